// Light, dark or as the system says: set before the first paint, hence no module; kept in this browser only.
(() => {
  const CHOICES = ["auto", "light", "dark"];
  const root = document.documentElement;
  // Reading storage throws where the browser forbids it; the pages then follow the system.
  const recall = () => { try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; } };
  const keep = (choice) => { try { localStorage.setItem("theme", choice); } catch { /* lasts for this page */ } };
  let choice = CHOICES.includes(recall()) ? recall() : "auto";

  function show() {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      // Its words for each choice, in the language of the page: data-auto, data-light, data-dark.
      if (button.dataset[choice]) button.textContent = button.dataset[choice];
    }
  }

  show();
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    keep(choice);
    show();
  });
})();
