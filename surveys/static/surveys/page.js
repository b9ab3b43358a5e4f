// What the scripts of a participant's page share: its words, its panels, what it says, this browser's storage.

export const words = document.getElementById("words").dataset;

export const makePanel = (name) =>
  document.querySelector(`template[data-panel="${name}"]`).content.firstElementChild.cloneNode(true);

// For screen readers. The same words again would not be read again, hence the emptying.
export function sayAloud(text) {
  const place = document.querySelector("[data-aloud]");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 50);
}

// The one line on what is safe: "Saved 10 seconds ago", "Sending…"; `late` when it is not.
export function showState(text, late = false) {
  for (const place of document.querySelectorAll("span[data-saved]")) {
    place.textContent = text;
    place.classList.toggle("late", late);
  }
}

// Private windows and full disks make storage throw; then there is no copy in this browser.
export function stored(place, value) {
  try {
    if (value === null) localStorage.removeItem(place);
    else if (value !== undefined) localStorage.setItem(place, JSON.stringify(value));
    return JSON.parse(localStorage.getItem(place));
  } catch { return null; }
}
