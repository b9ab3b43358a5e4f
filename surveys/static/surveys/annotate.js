// The annotator's work: keys, one question at a time, evidence, and answers that outlive a broken network.

import { sayAloud, showState, stored, words } from "./page.js";
import { post } from "./sending.js";
import { Trace } from "./trace.js";

const [SIGN_OF_LIFE, SETTLING, BREAK_AFTER] = [60_000, 500, 25 * 60_000];
const find = (what, within = document) => within.querySelector(what);
const list = (what, within = document) => [...within.querySelectorAll(what)];
const parse = (text) => new DOMParser().parseFromString(text, "text/html");
const [own, { alive }] = [find("#task-words").dataset, find("header").dataset];
const place = `answers:${location.pathname.split("/").slice(0, 4).join("/")}`;
const queue = stored(place) ?? []; // what the server has not confirmed yet, oldest first
const waiting = () => (queue.length === 1 ? own.waits : own.wait.replace("%s", queue.length));
const isOpen = (question) => !find(":checked", question);
const trace = new Trace(showEnds);
let [ahead, sending, byHand, evidence, pressedAt, movedAt, wasHasty, worked] = [null, null, false, -1, 0, 0, false, 0];

async function sendAll(asks) {
  const answer = await post(new URLSearchParams(queue[0].body), { url: queue[0].url, waiting });
  queue.shift();
  stored(place, queue.length ? queue : null);
  asks ??= answer.next?.includes("again=") ? answer : null; // another window has answered this one since
  return queue.length ? sendAll(asks) : asks ?? answer;
}

async function send(form) {
  trace.note();
  worked += trace.active;
  if (form.elements.trace) [form.elements.active_ms.value, form.elements.trace.value] = [trace.active, JSON.stringify(trace)];
  const said = list(":checked", form).map((box) => box.dataset.words ?? box.parentNode.dataset.words).join(" · ");
  queue.push({ url: form.action, body: new URLSearchParams(new FormData(form)).toString() });
  stored(place, queue);
  const went = form.id === "step" && put(ahead);
  const judged = find(`.shut[href$="/${new URL(form.action).pathname.split("/").at(-2)}/"] .soft`);
  if (judged) judged.textContent = said;
  if (!went) find("main").inert = true;
  if (!navigator.onLine) showState(waiting(), true);
  sending ??= sendAll().finally(() => { sending = null; });
  const { next = form.action } = await sending; // an answer that was refused is asked for again
  if (!went || next !== find("#step").dataset.work) return location.assign(next);
  showState(words.savedNow);
  find("[data-undo-label]")?.replaceChildren(`“${said}”`);
  return fetchAhead();
}

async function fetchAhead() {
  const { ahead: url, item } = find("#step").dataset;
  const answer = url && await fetch(url).catch(() => null);
  const text = answer?.ok && await answer.text();
  ahead = text ? { text, item, path: new URL(answer.url).pathname } : null;
}

// The next page comes in the place of this one; false when it is not there, or was fetched at another item.
function put(fetched) {
  const page = fetched && parse(fetched.text);
  if (!page || !find("#step[data-item]", page) || fetched.item !== find("#step").dataset.item) return false;
  for (const part of ["header", "main"]) find(part).replaceWith(document.adoptNode(find(part, page)));
  document.title = page.title;
  history.replaceState(null, "", fetched.path);
  begin();
  return true;
}

// After a while at work without leaving the page.
function offerBreak() {
  if (worked < BREAK_AFTER) return;
  worked = 0;
  find("[data-break]").hidden = false;
}

function begin() {
  offerBreak();
  [evidence, movedAt] = [-1, Date.now()];
  const bar = find(".rate:not([data-read])");
  bar?.classList.add("waits");
  if (bar) find("[data-unread]").hidden = false;
  const [all, fault, quote] = [list("#step [data-question]"), find("[data-focus]"), find("mark.evidence")];
  activate(fault ?? all.find(isOpen) ?? all[0]);
  quote?.scrollIntoView({ block: "center" });
  (fault ?? find("main")).focus({ preventScroll: true });
  scrollTo(0, 0);
  trace.begin(bar ? bar.offsetHeight + 8 : 0);
  showEnds();
  all.forEach(mark);
  sayAloud([...list(".notice:not([hidden])"), find("h1")].map((part) => part.textContent).join(" "));
}

function activate(question) {
  const isIt = (one) => one === question || one.hash === `#${question.id}`; // or the chip that leads there
  for (const one of list("[data-question], [data-open]")) one.classList.toggle("active", isIt(one));
  if (!question.closest(".rate")) question.scrollIntoView({ block: "nearest" }); // a bar is in view
  return question;
}

function moveOn(question) {
  const all = list("[data-question]", question.form);
  const after = all.slice(all.indexOf(question) + 1);
  const next = activate(after.find(isOpen) ?? all.find(isOpen) ?? after[0] ?? question);
  if (next !== question) movedAt = Date.now();
}

// What was chosen stands in the profile too, where all questions of a pair are in sight.
function mark(question) {
  const chip = find(`[data-open][href="#${question.id}"]`);
  if (chip) chip.dataset.said = find(":checked", question)?.dataset.words ?? "";
}

// The bar below two answers is one line until both have been seen to their ends; scrolling opens it, never a press.
function showEnds() {
  if (!find(".rate.waits")) return;
  const { unread } = trace;
  find("[data-unread]").hidden = !unread.length;
  for (const mark of list("[data-end-of]")) mark.classList.toggle("read", !unread.includes(mark.dataset.endOf));
  for (const button of list("[data-to-end]")) button.hidden = button.dataset.toEnd !== unread[0];
  if (unread.length) return;
  find(".rate").classList.remove("waits");
  movedAt = Date.now();
  sayAloud(find("fieldset.active legend").textContent);
}

function goToEnd() {
  const [end] = trace.unread;
  find(`[data-end="${end}"]`)?.scrollIntoView({ block: "center" });
}

function openEvidence(wanted) {
  const numbers = list("[data-evidence]").map((link) => link.dataset.evidence);
  evidence = wanted ? numbers.indexOf(wanted) : (evidence + 1) % numbers.length;
  const [number, { opened }] = [numbers[evidence], find("#step").elements];
  for (const mark of list("mark.evidence")) mark.classList.toggle("now", mark.matches(`[data-marks~="${number}"]`));
  find("mark.now").scrollIntoView({ block: "center" });
  find("[data-back]").hidden = false;
  opened.value = [...new Set([...opened.value.split(",").filter(Boolean), number])].join();
  find("button [data-which]").textContent = own.which.replace("%s", evidence + 1).replace("%s", numbers.length);
}

async function search(form) {
  const answer = await fetch(`${form.action}?${new URLSearchParams(new FormData(form))}`);
  find("#history").replaceWith(find("#history", parse(await answer.text())));
  find("#found-1")?.scrollIntoView({ block: "center" });
}

document.addEventListener("submit", (event) => {
  const [form, missing] = [event.target, list("[data-required]", event.target).find(isOpen)];
  event.preventDefault();
  if (form.role === "search") return search(form);
  if (form.id === "step" && find(".rate.waits")) return goToEnd();
  if (!missing && isHasty(form)) return find("#hasty").showModal();
  if (!missing) return send(form);
  activate(missing);
  find("input", missing).focus();
  sayAloud(own.missing);
  return showState(own.missing, true);
});

// Asked once of a person: whether they have read what takes longer than they took.
const isHasty = (form) => form.id === "step" && !wasHasty && trace.active < Number(form.dataset.quick ?? 0);

function answerHaste(said) {
  [wasHasty, trace.hasty] = [true, said];
  find("#hasty").close();
  if (said === "read") send(find("#step"));
}

// What has just moved under a finger takes no press: it was meant for what stood there before.
document.addEventListener("click", (event) => {
  if (!event.isTrusted || !event.detail || pressedAt > movedAt + SETTLING) return;
  if (!event.target.closest(".choice, .toggle")) return;
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });

document.addEventListener("click", (event) => {
  const at = event.target.closest(
    "summary, [data-dialog], [data-close], [data-open], [data-evidence], [data-key=e], [data-to-end], [data-hasty]",
  );
  if (!at) return;
  event.preventDefault();
  if (at.matches("summary, [data-open]")) movedAt = Date.now();
  if (at.matches("summary")) activate(find(`${at.parentNode.toggleAttribute("open") ? "#skip" : "#step"} fieldset`));
  else if (at.dataset.dialog) find(`#${at.dataset.dialog}`).showModal();
  else if (at.dataset.close !== undefined) at.closest("dialog").close();
  else if (at.dataset.open !== undefined) activate(find(at.hash)).focus();
  else if (at.dataset.toEnd) goToEnd();
  else if (at.dataset.hasty) answerHaste(at.dataset.hasty);
  else openEvidence(at.dataset.evidence);
});

document.addEventListener("keydown", (event) => {
  const [at, key] = [event.target, event.key.toLowerCase()];
  byHand = false;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || find("dialog[open], main[inert]")) return;
  if (key === "escape") { find(".skip-it[open] summary")?.click(); at.blur(); }
  if (at.matches("input:not([type=radio], [type=checkbox])")) return;
  if (key === "enter" && at.matches("body, main, section, fieldset")) find("fieldset.active").form.requestSubmit();
  const shut = "[data-question]:not(.active), [hidden]";
  const wanted = list("[data-key]").find((one) => one.dataset.key === key && !one.closest(shut));
  if (!wanted) return;
  event.preventDefault();
  if (wanted.dataset.words && wanted.closest(".waits")) return goToEnd();
  wanted.click();
  if (!wanted.dataset.words) return;
  wanted.focus(); // so that Enter saves, whatever was pressed before
  moveOn(wanted.closest("fieldset"));
});

// Arrow keys change a choice too, and must be able to go on changing it.
document.addEventListener("pointerdown", () => { [byHand, pressedAt] = [true, Date.now()]; });
document.addEventListener("change", ({ target: at }) => {
  if (!at.dataset.words) return;
  mark(at.closest("fieldset"));
  if (byHand) moveOn(at.closest("fieldset"));
});

const signLife = () => Date.now() - trace.at < 5 * SIGN_OF_LIFE && fetch(alive, { method: "POST" }).catch(() => null);
setInterval(signLife, SIGN_OF_LIFE);
addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });
document.documentElement.classList.add("live");
begin();
find("main").inert = queue.length > 0; // from a page that was closed too soon
(queue.length ? sendAll().then(({ next }) => location.assign(next ?? find("#step").dataset.work)) : fetchAhead());
