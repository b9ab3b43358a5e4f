// The editor works as plain forms; this opens what a link leads to, warns of what is not saved, and follows the preview.

const form = document.getElementById("form");
let unsaved = false;

function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let around = target.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
  target.scrollIntoView({ block: "center" });
  target.querySelector("input, select, textarea, summary")?.focus({ preventScroll: true });
}
addEventListener("hashchange", open);
open();

form.addEventListener("input", () => {
  unsaved = true;
  document.querySelector("[data-unsaved]").hidden = false;
});
form.addEventListener("submit", () => { unsaved = false; });
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
addEventListener("keydown", (event) => {
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});

const chosen = document.querySelector("[data-seen]");
if (chosen) {
  chosen.hidden = false;
  chosen.addEventListener("change", () => { document.querySelector("iframe.phone").src = chosen.value; });
}
