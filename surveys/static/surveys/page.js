// What the scripts of a participant's page share: its words, what is said aloud, and this browser's storage.

export const words = document.getElementById("words").dataset;

// For screen readers. The same words again would not be read again, hence the emptying.
export function sayAloud(text) {
  const place = document.querySelector("[data-aloud]");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 50);
}

// The one line about what is safe: "Saved 10 seconds ago", "Sending…"; `late` when it is not.
export function showState(text, late = false) {
  for (const place of document.querySelectorAll("[data-saved]")) {
    place.textContent = text;
    place.classList.toggle("late", late);
  }
}

export const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Private windows and full disks make storage throw; then there is no copy in this browser.
export function recall(place) {
  try { return JSON.parse(localStorage.getItem(place)); } catch { return null; }
}

export function keep(place, value) {
  try { localStorage.setItem(place, JSON.stringify(value)); return true; } catch { return false; }
}

export function forget(place) {
  try { localStorage.removeItem(place); } catch { /* nothing was kept */ }
}

// A panel from the page's <template data-panel="name">; null when the page has none of that name.
export function makePanel(name) {
  const template = document.querySelector(`template[data-panel="${name}"]`);
  return template && template.content.firstElementChild.cloneNode(true);
}
