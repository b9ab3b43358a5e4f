// The console works as plain pages; this adds copying, quick switches and a monitor that updates by itself.

for (const element of document.querySelectorAll("[data-without-script]")) element.hidden = true;
document.querySelector("[data-focus]")?.focus();

const kept = document.querySelector("[data-keep]"); // a form whose unsaved words are asked about before it is left
for (const [what, ask] of [["input", (event) => event.preventDefault()], ["submit", null]]) kept?.addEventListener(what, () => { onbeforeunload = ask; });
document.addEventListener("change", ({ target }) => { if (target.matches("[data-submit]")) target.form.requestSubmit(); });

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
const reachTables = () => document.querySelectorAll(".scroll").forEach(
  (box) => { box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1; });
reachTables();
addEventListener("resize", reachTables);

// A button that is drawn anew or moves while it is pressed loses its click: what comes meanwhile is shown afterwards.
const AFTER_CLICK = 50; // milliseconds: a finger's click follows when the finger is up
const newest = new WeakMap();
// Who drags a slider wants to see at once what it does.
const isPressed = () => document.querySelector(":active") && !document.querySelector("input[type=range]:active");

addEventListener("touchstart", () => {}, { passive: true }); // without a listener Safari knows nothing :active by touch
addEventListener("htmx:beforeSwap", (event) => {
  const { target, serverResponse, shouldSwap, requestConfig: { elt } } = event.detail;
  newest.delete(target);
  if (!shouldSwap || !isPressed()) return;
  event.preventDefault();
  const how = { swapStyle: elt.getAttribute("hx-swap") || "innerHTML", swapDelay: 0, settleDelay: 20 };
  const show = (wasFree) => {
    if (newest.get(target) !== show) return;
    if (wasFree && !isPressed()) htmx.swap(target, serverResponse, how, { contextElement: elt });
    else setTimeout(show, AFTER_CLICK, !isPressed());
  };
  newest.set(target, show);
  show(false);
});

const live = document.querySelector("[data-live]");
if (live) followNumbers(live);

function followNumbers(part) {
  const [words, hold] = ["freshness", "hold"].map((name) => document.querySelector(`[data-${name}]`));
  let [held, seen, failed] = [false, Date.now(), false];

  function say() {
    const seconds = Math.round((Date.now() - seen) / 1000);
    const age = seconds < 3 ? "just now" : seconds < 90 ? `${seconds} seconds ago` : `${Math.round(seconds / 60)} minutes ago`;
    const why = held ? "Updating is stopped" : failed && "No connection";
    words.textContent = why ? `${why}. These numbers are from ${age}.` : `Updated ${age}.`;
  }

  // New numbers would take away marked text and move a table back that somebody moved sideways.
  const reading = () => {
    const { isCollapsed, anchorNode } = getSelection();
    return (!isCollapsed && part.contains(anchorNode)) || [...part.querySelectorAll(".scroll")].some((box) => box.scrollLeft > 0);
  };
  part.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden || held || reading()) event.preventDefault();
  });
  part.addEventListener("htmx:afterSwap", () => { seen = Date.now(); failed = false; say(); reachTables(); });
  for (const error of ["response", "send"]) part.addEventListener(`htmx:${error}Error`, () => { failed = true; say(); });
  hold.hidden = false;
  hold.addEventListener("click", () => {
    held = !held;
    hold.textContent = held ? "Go on updating" : "Stop updating";
    say();
  });
  say();
  setInterval(say, 1000);
}
