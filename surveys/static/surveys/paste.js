// The paste page: copying the message, following the steps, checking a paste at once, sending the answer.

import { Draft } from "./draft.js";
import { Evidence } from "./evidence.js";
import { makePanel, sayAloud, words } from "./page.js";
import { Personal } from "./personal.js";
import { sendByScript } from "./sending.js";

const form = document.querySelector("form[data-paste]");
const find = (name) => form.querySelector(`[data-${name}]`);
const { text: box, evidence: notes, html } = form.elements;
const [gate, message] = [find("gate"), find("message")];

const evidence = new Evidence(box, html);
const personal = new Personal(form, check);
const draft = new Draft(form, { read, held: () => personal.open, checked: showCheck });
let complete = false;

function read() {
  const said = [...gate.querySelectorAll("input:checked, input[type=text], [name=read_of]")];
  const reply = Object.fromEntries(said.filter(({ value }) => value).map(({ name, value }) => [name, value]));
  return { text: box.value, shown_in: form.elements.shown_in.value, evidence: JSON.stringify(evidence), ...personal.fields(), ...reply };
}

// What is written answers the message as it is shown now: it is saved with its language before that changes.
document.querySelector(".languages")?.addEventListener("click", async (event) => {
  if (!event.target.href) return;
  event.preventDefault();
  await draft.save();
  location.assign(event.target.href);
});

// --- copying ---

async function copy() {
  getSelection().selectAllChildren(message); // stays, for copying by hand, when both ways below are forbidden
  const written = await navigator.clipboard?.writeText(message.textContent).then(() => true, () => false);
  if (written || document.execCommand("copy")) noteCopied();
  else find("copied").textContent = words.copyByHand;
}

function noteCopied() {
  evidence.noteOnce("copied_at");
  find("copied").textContent = words.copied;
  look();
}

find("unfold").addEventListener("click", ({ target }) => {
  target.closest("li").classList.add("open");
  light(box.value.trim() !== "");
  find("copy").focus();
});
find("copy").hidden = false;
find("copy").addEventListener("click", copy);
message.addEventListener("copy", () => setTimeout(noteCopied)); // it folds: first the browser takes the words
find("ask").addEventListener("click", () => { evidence.noteOnce("opened_at"); look(); });

// --- coming back with the answer ---

document.addEventListener("visibilitychange", () => {
  if (document.hidden || box.value || !(evidence.notes.copied_at || evidence.notes.opened_at)) return;
  box.focus();
  box.scrollIntoView({ block: "center" });
});

async function pasteFromClipboard() {
  const flavour = (item, type) => (item.types.includes(type) ? item.getType(type).then((blob) => blob.text()) : "");
  const [item] = await navigator.clipboard.read();
  const [plain, rich] = await Promise.all(["text/plain", "text/html"].map((type) => flavour(item, type)));
  box.select();
  evidence.announcePaste({ getData: (type) => (type === "text/html" ? rich : plain) });
  box.value = plain;
  box.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste", bubbles: true }));
  find("clipped").textContent = "";
}

find("clip").hidden = !navigator.clipboard?.read;
find("clip").addEventListener("click", () => pasteFromClipboard().catch(() => {
  find("clipped").textContent = words.pasteByHand;
  box.focus();
}));

// --- what is seen of the answer, and which steps are done ---

const count = (number, one, many) =>
  number === 1 ? one : many.replace("%s", number.toLocaleString(document.documentElement.lang));

function look() {
  const lines = box.value.split("\n").filter((line) => line.trim());
  const size = [count(box.value.length, words.character, words.characters), count(lines.length, words.line, words.lines)];
  find("complete").hidden = !complete || !lines.length;
  find("seen").textContent = lines.length ? size.join(" · ") : "";
  light(lines.length > 0);
}

const asks = () => gate.querySelector(".gate, [data-asks]");

function light(pasted) {
  const asked = asks() || personal.undecided().length > 0;
  const { copied_at: copied, opened_at: opened } = evidence.notes;
  const done = { copy: copied || pasted, ask: opened || pasted, paste: pasted && !asked };
  const steps = [...form.querySelectorAll("[data-done]")];
  const now = steps.find((step) => !done[step.dataset.done]);
  for (const step of steps) {
    const isDone = Boolean(done[step.dataset.done]);
    const is = { done: isDone, now: step === now, folded: isDone && !step.matches(".open, [data-done=paste]") };
    for (const [name, held] of Object.entries(is)) step.classList.toggle(name, held);
    step.ariaCurrent = step === now ? "step" : "false";
  }
}

// --- what the checks ask ---

// What is on screen is not drawn anew while nothing of it has changed: a click would miss it, typed words would go.
function showGate(panel, about = "") {
  if (about && about === gate.dataset.gate) return;
  gate.dataset.gate = about;
  gate.innerHTML = panel;
  box.setAttribute("aria-invalid", String(Boolean(asks())));
}

// A button that moves while it is pressed loses its click: what was found meanwhile is shown afterwards.
addEventListener("touchstart", () => {}, { passive: true }); // without a listener Safari knows nothing :active by touch
function showCheck(answer, wasFree = true) {
  const isFree = !form.querySelector(":active");
  if (!wasFree || !isFree) return setTimeout(showCheck, 50, answer, isFree); // a finger's click follows when it is up
  if (draft.stopped) return;
  showGate(answer.panel, answer.about);
  complete = !asks();
  look();
  sayAloud(asks() ? "" : gate.querySelector("legend")?.textContent ?? "");
}

// The text has changed by more than typing: save it and have it checked at once.
function check() {
  evidence.skip();
  refresh();
  draft.check = true;
  draft.changed();
  draft.plan(0);
}

gate.addEventListener("click", (event) => {
  if (event.target.closest("[data-fix]")) { event.preventDefault(); box.focus(); }
});

form.addEventListener("input", ({ inputType, target }) => {
  if (gate.contains(target)) return;
  complete = false;
  // While a question stands, the next saving checks again, so that it goes when it is answered.
  draft.check ||= gate.childElementCount > 0;
  if (!inputType) recall(); // put back from this browser
  if (!inputType?.startsWith("insertFrom")) return refresh();
  showGate("");
  return check();
});

function recall() { evidence.recall(notes.value || form.dataset.evidence); personal.recall(); }

function refresh() { personal.show(); look(); }

function loadRules() {
  const again = () => addEventListener("online", loadRules, { once: true });
  personal.load().then(() => { refresh(); draft.save(); }, again);
}

// --- sending ---

sendByScript(form, draft, {
  prepare() {
    if (personal.show()) return find("personal").firstElementChild.focus();
    evidence.notes.sent_at = Date.now();
    for (const [name, value] of Object.entries(read())) form.elements[name].value = value;
    return true;
  },
  refused({ error, panel, about, page }) {
    if (page) form.elements.page.value = page;
    if (error) {
      const note = makePanel("error");
      note.append(Object.assign(document.createElement("p"), { textContent: error }));
      showGate(note.outerHTML);
    } else if (panel) showGate(panel, about);
    look();
    gate.querySelector("[data-focus]")?.focus();
    return Boolean(error || panel); // about personal details the server's page asks
  },
});

recall(); refresh(); loadRules();
