// The paste page: copying the message, following the steps, checking a paste at once, sending the answer.

import { Draft } from "./draft.js";
import { Evidence } from "./evidence.js";
import { makePanel, sayAloud, words } from "./page.js";
import { Personal } from "./personal.js";
import { sendByScript } from "./sending.js";

const form = document.querySelector("form[data-paste]");
const box = form.elements.text;
const gate = form.querySelector("[data-gate]");
const message = form.querySelector("[data-message]");
const copied = form.querySelector("[data-copied]");

const evidence = new Evidence(box, form.elements.html, readJSON(form.elements.evidence.value));
const personal = new Personal(form, decided);
const draft = new Draft(form, { read: readDraft, held: () => personal.open, checked: showCheck });
let complete = false;

function readJSON(text) {
  try { return JSON.parse(text); } catch { return {}; }
}

function readDraft() {
  return { text: box.value, evidence: JSON.stringify(evidence), ...personal.fields() };
}

function fillHiddenFields() {
  for (const [name, value] of Object.entries(readDraft())) if (name !== "text") form.elements[name].value = value;
}

// --- copying ---

async function copy() {
  try {
    await navigator.clipboard.writeText(message.textContent);
  } catch {
    getSelection().selectAllChildren(message);
    // Without the clipboard's permission; when this fails too the message stays selected for the person to copy.
    if (!document.execCommand("copy")) { copied.textContent = words.copyByHand; return; }
  }
  noteCopied();
}

function noteCopied() {
  evidence.noteOnce("copied_at");
  copied.textContent = words.copied;
  light();
}

const copyButton = form.querySelector("[data-copy]");
copyButton.hidden = false;
copyButton.addEventListener("click", copy);
message.addEventListener("copy", noteCopied);
form.querySelector("[data-ask]").addEventListener("click", () => { evidence.noteOnce("opened_at"); light(); });

// --- the steps and what is seen of the answer ---

function light() {
  const pasted = box.value.trim() !== "";
  const done = { copy: evidence.notes.copied_at || pasted, ask: evidence.notes.opened_at || pasted, paste: pasted && !asksSomething() };
  const steps = [...form.querySelectorAll("[data-done]")];
  const now = steps.find((step) => !done[step.dataset.done]);
  for (const step of steps) {
    step.classList.toggle("done", Boolean(done[step.dataset.done]));
    step.classList.toggle("now", step === now);
    if (step === now) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  }
}

const asksSomething = () => gate.childElementCount > 0 || personal.undecided().length > 0;
const count = (number, one, many) => (number === 1 ? one : many.replace("%s", number.toLocaleString(document.documentElement.lang)));

function look() {
  const lines = box.value.split("\n").filter((line) => line.trim());
  const ready = form.querySelector("[data-complete]");
  ready.hidden = !(complete && lines.length);
  const size = [count(box.value.length, words.character, words.characters), count(lines.length, words.line, words.lines)];
  form.querySelector("[data-seen]").textContent = lines.length ? size.join(" · ") : "";
  for (const [name, line] of [["first", lines[0]], ["last", lines.at(-1)]]) {
    const place = form.querySelector(`[data-${name}]`);
    place.hidden = lines.length < 2;
    place.lastElementChild.textContent = line ?? "";
  }
  light();
}

// --- what the checks ask ---

function showGate(messages, panel = makePanel("gate")) {
  panel.prepend(...messages.map((text) => {
    const line = document.createElement("p");
    line.textContent = text;
    return line;
  }));
  gate.replaceChildren(...(messages.length ? [panel] : []));
  box.toggleAttribute("aria-invalid", messages.length > 0);
  if (messages.length) box.setAttribute("aria-invalid", "true");
}

function showCheck(messages) {
  complete = messages.length === 0;
  showGate(messages);
  look();
  if (complete && box.value.trim()) sayAloud(words.complete);
}

gate.addEventListener("click", (event) => {
  if (!event.target.closest("[data-fix]")) return;
  event.preventDefault();
  box.focus();
});

box.addEventListener("input", (event) => {
  complete = false;
  if (!event.inputType) evidence.recall(readJSON(form.elements.evidence.value)); // put back from this browser
  const pasted = event.inputType?.startsWith("insertFrom");
  // After a paste at once; while a question stands, with the next saving, so that it goes when it is answered.
  if (pasted || gate.childElementCount) draft.check = true;
  if (pasted) showGate([]);
  personal.show();
  look();
  if (pasted) draft.plan(0);
});

function decided() {
  evidence.skip();
  personal.show();
  look();
  draft.check = true;
  draft.changed();
  draft.plan(0);
}

function loadRules() {
  personal.load().then(() => { personal.show(); look(); draft.save(); }, () => addEventListener("online", loadRules, { once: true }));
}

// --- sending ---

sendByScript(form, draft, {
  prepare() {
    if (personal.show()) {
      form.querySelector("[data-personal] [tabindex]").focus();
      return false;
    }
    evidence.notes.sent_at = Date.now();
    fillHiddenFields();
    return true;
  },
  refused({ error, personal: details, messages = [], page }) {
    if (page) form.elements.page.value = page;
    const found = Object.keys(details ?? {}).length > 0 && personal.show();
    showGate(error ? [error] : messages, makePanel(error ? "error" : "gate"));
    look();
    form.querySelector("[data-gate] [tabindex], [data-personal] [tabindex]")?.focus();
    return Boolean(error || messages.length || found);
  },
});

loadRules();
look();
