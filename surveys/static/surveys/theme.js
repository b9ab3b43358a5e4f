// Light, dark or as the system says: set before the first paint, hence no module; kept in this browser only.
(() => {
  const CHOICES = ["auto", "light", "dark"];
  // Storage throws where the browser forbids it; the choice then lasts for one page.
  const recall = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  let choice = CHOICES.find((name) => name === recall()) ?? "auto";

  // A switch may hold its name for each choice, in the language of the page: data-auto, data-light, data-dark.
  function show() {
    document.documentElement.dataset.theme = choice;
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      const name = button.dataset[choice];
      if (name) [button.ariaLabel, button.title, button.textContent] = [name, name, { auto: "◐", light: "☀", dark: "☾" }[choice]];
    }
  }

  show();
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    try { localStorage.setItem("theme", choice); } catch { /* not kept */ }
    show();
  });
})();
