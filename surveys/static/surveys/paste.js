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
let reply = {}; // what was last said of a reading: it holds while no reading is shown

// Beside the answer: that a state was reached, and what the answer is worth.
const kept = () => Object.fromEntries([...form.querySelectorAll("[data-kept]:checked")].map(({ name, value }) => [name, value]));

function read() {
  const said = [...gate.querySelectorAll("input:checked, input[type=text], input[type=hidden]")];
  if (said.length) reply = Object.fromEntries(said.filter(({ value }) => value).map(({ name, value }) => [name, value]));
  return { text: box.value, shown_in: form.elements.shown_in.value, evidence: JSON.stringify(evidence), ...personal.fields(), ...kept(), ...reply };
}

// What is written answers the message as it is shown now: it is saved with its language before that changes.
document.querySelector(".languages")?.addEventListener("click", async (event) => {
  if (!event.target.href) return;
  event.preventDefault();
  await draft.save();
  location.assign(event.target.href);
});

// --- copying and opening ---

const tell = (text) => { find("copied").textContent = text; };
const isWhole = () => getSelection().toString().trim() === message.textContent.trim();

// Within the press: only then may a window be opened too.
function copyAtOnce() {
  getSelection().selectAllChildren(message); // stays, for copying by hand, when both ways are forbidden
  return document.execCommand("copy") && noteCopied();
}

async function copy() {
  if (copyAtOnce()) return true;
  const written = await navigator.clipboard?.writeText(message.textContent).then(() => true, () => false);
  if (written) return noteCopied();
  tell(words.copyByHand);
  return false;
}

function noteCopied() {
  getSelection().removeAllRanges();
  return note("copied_at", words.copied);
}

// Kept on the server too: a phone may forget this page while the chatbot's is open.
function note(what, said) {
  evidence.noteOnce(what);
  tell("");
  sayAloud(said);
  draft.changed();
  light();
  return true;
}

function open() {
  const opened = window.open(find("ask").href, "_blank");
  if (opened) {
    opened.opener = null;
    return note("opened_at", words.opened);
  }
  tell(words.blocked);
  return find("ask").focus();
}

async function go() {
  if (form.dataset.now === "open" || copyAtOnce() || await copy()) open();
}

message.addEventListener("copy", (event) => {
  if (!isWhole()) return;
  event.clipboardData.setData("text/plain", message.textContent); // as it is, without the look of this page
  event.preventDefault();
  noteCopied();
});
for (const name of ["copy", "start"]) find(name).hidden = false;
find("copy").addEventListener("click", copy);
find("start").addEventListener("click", go);
find("ask").addEventListener("click", () => note("opened_at", words.opened));

// --- coming back with the answer ---

document.addEventListener("visibilitychange", () => {
  if (document.hidden || box.value || !(evidence.notes.copied_at || evidence.notes.opened_at)) return;
  light();
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

const mayRead = Boolean(navigator.clipboard?.read);
for (const name of ["clip", "again"]) find(name).addEventListener("click", () => pasteFromClipboard().then(
  () => find("forward").focus(),
  () => { find("clipped").textContent = words.pasteByHand; box.focus(); },
));

// --- what is seen of the answer, and which step it is ---

const count = (number, one, many) =>
  number === 1 ? one : many.replace("%s", number.toLocaleString(document.documentElement.lang));

function look() {
  const lines = box.value.split("\n").filter((line) => line.trim());
  const size = [count(box.value.length, words.character, words.characters), count(lines.length, words.line, words.lines)];
  find("seen").textContent = lines.length ? size.join(" · ") : "";
  light();
}

const asks = () => gate.querySelector(".gate, [data-asks]");
const told = () => gate.querySelector("[role=alert]") ? "" : gate.querySelector("legend, summary > span")?.textContent ?? "";

// One button is filled, in one place: what is to be done now. What was not seen is not said to be done.
function stepNow() {
  const { copied_at: copied, opened_at: opened, away_ms: away } = evidence.notes;
  if (box.value.trim()) return "send";
  if (opened || (copied && away)) return mayRead ? "paste" : "send";
  return copied ? "open" : "copy";
}

function light() {
  const { copied_at: copied, opened_at: opened } = evidence.notes;
  const [now, held] = [stepNow(), document.activeElement];
  form.dataset.now = now;
  find("start").hidden = !["copy", "open"].includes(now);
  find("clip").hidden = now !== "paste";
  find("again").hidden = !mayRead || !box.value.trim();
  find('done="copy"').hidden = !copied;
  find('done="ask"').hidden = !opened;
  if (held.hidden) (find("clip").hidden ? find("forward") : find("clip")).focus(); // never falls to the page
}

// --- what the checks ask ---

// What is on screen is not drawn anew while nothing of it has changed: a click would miss it, typed words would go.
function showGate(panel, about = "") {
  if (about && about === gate.dataset.gate) return;
  gate.dataset.gate = about;
  gate.innerHTML = panel;
  box.setAttribute("aria-invalid", String(Boolean(asks())));
  offerCleaning();
}

// The chatbot's own words go out in one press, as the server marks them; they are noted, and can be put back.
let uncut = null;

function offerCleaning() { for (const part of gate.querySelectorAll("[data-cut]")) part.hidden = false; }

function clean() {
  const gone = new Set([...gate.querySelectorAll("[data-line]")].map((line) => Number(line.dataset.line)));
  const [lines, { page_words: noted = [] }] = [box.value.split("\n"), evidence.notes];
  uncut = [box.value, noted];
  evidence.notes.page_words = [...noted, ...lines.filter((_, at) => gone.has(at))];
  rewrite(lines.filter((_, at) => !gone.has(at)).join("\n").trim(), [makePanel("cleaned")]);
}

function restore() {
  evidence.notes.page_words = uncut[1];
  rewrite(uncut[0], []);
}

function rewrite(text, notice) {
  box.value = text;
  find("cleaned").replaceChildren(...notice);
  showGate("");
  check();
  box.focus();
}

// A button that moves while it is pressed loses its click: what was found meanwhile is shown afterwards.
addEventListener("touchstart", () => {}, { passive: true }); // without a listener Safari knows nothing :active by touch
function showCheck(answer, wasFree = true) {
  const isFree = !form.querySelector(":active");
  if (!wasFree || !isFree) return setTimeout(showCheck, 50, answer, isFree); // a finger's click follows when it is up
  if (draft.stopped) return;
  showGate(answer.panel, answer.about);
  look();
  if (asks()) box.scrollTop = box.scrollHeight; // whether the end is there
  sayAloud(told().replace(/\s+/g, " "));
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
  if (event.target.closest("[data-clean]")) clean();
});
find("cleaned").addEventListener("click", (event) => { if (event.target.closest("[data-restore]")) restore(); });

form.addEventListener("input", ({ inputType, target }) => {
  if (gate.contains(target) || "kept" in target.dataset) return;
  find("cleaned").replaceChildren();
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

const field = (name) => form.elements[name] ?? gate.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name }));

sendByScript(form, draft, {
  prepare() {
    if (personal.show()) return find("personal").firstElementChild.focus();
    evidence.notes.sent_at = Date.now();
    for (const [name, value] of Object.entries(read())) field(name).value = value;
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

offerCleaning(); recall(); refresh(); loadRules();
