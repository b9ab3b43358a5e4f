// The console works as plain pages; this adds copying, quick switches and a monitor that updates by itself.

for (const element of document.querySelectorAll("[data-without-script]")) element.hidden = true;
document.querySelector("[data-focus]")?.focus();

for (const field of document.querySelectorAll("[data-submit]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  });
}

// A table wider than the page must be reachable by keyboard to be moved sideways.
function reachTables() {
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
reachTables();
addEventListener("resize", reachTables);

// A button that is drawn anew or moves while it is pressed loses its click: what comes meanwhile is shown afterwards.
const SLIDERS = "input[type=range]"; // who drags one wants to see at once what it does
const AFTER_CLICK = 50; // milliseconds: a finger's click follows when the finger is up
let pressed = false;
const waiting = new Map();

function release() {
  if (!pressed) return;
  pressed = false;
  setTimeout(() => {
    if (pressed) return;
    for (const show of waiting.values()) show();
    waiting.clear();
  }, AFTER_CLICK);
}

addEventListener("pointerdown", (event) => { pressed = event.button === 0 && !event.target.matches(SLIDERS); }, true);
addEventListener("keydown", (event) => { if (event.key === " ") pressed = true; }, true);
for (const end of ["pointerup", "pointercancel", "keyup"]) addEventListener(end, release, true);
addEventListener("blur", release);

addEventListener("htmx:beforeSwap", (event) => {
  const { target, serverResponse, shouldSwap, requestConfig: { elt } } = event.detail;
  if (!pressed || !shouldSwap) return;
  event.preventDefault();
  const how = { swapStyle: elt.getAttribute("hx-swap") || "innerHTML", swapDelay: 0, settleDelay: 20 };
  waiting.set(target, () => htmx.swap(target, serverResponse, how, { contextElement: elt }));
});

const live = document.querySelector("[data-live]");
if (live) followNumbers(live);

function followNumbers(part) {
  const words = document.querySelector("[data-freshness]");
  const hold = document.querySelector("[data-hold]");
  let held = false;
  let seen = Date.now();
  let failed = false;

  function say() {
    const seconds = Math.round((Date.now() - seen) / 1000);
    const age = seconds < 3 ? "just now" : seconds < 90 ? `${seconds} seconds ago` : `${Math.round(seconds / 60)} minutes ago`;
    if (held) words.textContent = `Updating is stopped. These numbers are from ${age}.`;
    else if (failed) words.textContent = `No connection. These numbers are from ${age}.`;
    else words.textContent = `Updated ${age}.`;
  }

  // New numbers would take away marked text and move a table back that somebody moved sideways.
  const reading = () => {
    const chosen = document.getSelection();
    const marked = chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
    return marked || [...part.querySelectorAll(".scroll")].some((box) => box.scrollLeft > 0);
  };
  part.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden || held || reading()) event.preventDefault();
  });
  part.addEventListener("htmx:afterSwap", () => { seen = Date.now(); failed = false; say(); reachTables(); });
  part.addEventListener("htmx:responseError", () => { failed = true; say(); });
  part.addEventListener("htmx:sendError", () => { failed = true; say(); });
  hold.hidden = false;
  hold.addEventListener("click", () => {
    held = !held;
    hold.textContent = held ? "Go on updating" : "Stop updating";
    say();
  });
  say();
  setInterval(say, 1000);
}
