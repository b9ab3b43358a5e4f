// Saves what stands in a form while somebody works: on the server, and in this browser until the server has it.

import { forget, keep, makePanel, recall, sayAloud, showState, words } from "./page.js";

const DELAY = 1500;
const LONGEST_WAIT = 30_000;
const LARGEST_KEEPALIVE = 60_000; // browsers refuse more in a request that may outlive its page

export function readFields(form) {
  const fields = {};
  for (const [name, value] of new FormData(form)) if (form.elements[name].type !== "hidden") fields[name] = value;
  return fields;
}

export class Draft {
  // `read` gives the fields to save, `held` says that nothing may be sent yet, `checked` gets the paste checks' answer.
  constructor(form, { read = () => readFields(form), held = () => false, checked = () => {} } = {}) {
    Object.assign(this, { form, read, held, checked });
    this.place = `draft:${location.pathname}`;
    this.number = Number(form.dataset.number);
    this.changes = this.safe = 0; // counted here; what the server has confirmed
    this.savedAt = this.failures = 0;
    this.check = this.saving = this.stopped = false;
    form.addEventListener("input", () => this.changed(), true); // before those who then hurry it
    addEventListener("online", () => this.save());
    addEventListener("beforeunload", (event) => { if (this.wouldLose()) event.preventDefault(); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.leave(); });
    setInterval(() => this.show(), 5000);
    this.restore();
  }

  changed() {
    this.changes += 1;
    clearTimeout(this.copying);
    this.copying = setTimeout(() => this.keepHere(), 250);
    this.plan(DELAY);
    this.show();
  }

  plan(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), ms);
  }

  keepHere() {
    clearTimeout(this.copying);
    if (this.changes > this.safe && !this.stopped) keep(this.place, { number: this.number, fields: this.read() });
  }

  async save() {
    if (this.stopped || this.saving || !(this.check || this.changes > this.safe)) return;
    if (this.held()) return; // the page asks again when the person has decided
    clearTimeout(this.timer);
    this.saving = true;
    const [changes, check] = [this.changes, this.check];
    const answer = await this.post(check).catch(() => null);
    this.saving = false;
    if (this.stopped) return;
    if (answer?.number) this.confirm(answer, changes, check);
    else if (answer?.newer) this.giveWay(answer.message);
    else if (answer?.next) location.assign(answer.next); // the part has ended in another window
    else this.tryAgain();
  }

  async post(check) {
    const body = new URLSearchParams({ ...this.read(), step: this.form.dataset.step, number: this.number });
    if (check) body.set("check", "1");
    const answer = await fetch(this.form.dataset.autosave, {
      method: "POST", body, headers: { Accept: "application/json" },
      keepalive: document.hidden && body.toString().length < LARGEST_KEEPALIVE,
    });
    return answer.json();
  }

  confirm(answer, changes, check) {
    if (this.failures || !this.savedAt) sayAloud(words.savedNow);
    this.number = answer.number;
    this.safe = changes;
    this.savedAt = Date.now();
    this.failures = 0;
    if (this.changes > changes) { this.keepHere(); this.plan(DELAY); } else forget(this.place);
    if (check && this.changes === changes) { this.check = false; this.checked(answer.messages || []); }
    this.show();
  }

  giveWay(message) {
    this.stopped = true;
    showState(message, true);
    sayAloud(message);
  }

  tryAgain() {
    if (!this.failures) sayAloud(words.notSaved);
    this.failures += 1;
    this.keepHere();
    this.plan(Math.min(1000 * 2 ** this.failures, LONGEST_WAIT));
    this.show();
  }

  show() {
    if (this.stopped) return;
    if (this.failures) showState(words.notSaved, true);
    else if (this.changes > this.safe) showState(words.pending);
    else if (this.savedAt) showState(words.saved.replace("%s", sinceThen(this.savedAt)));
  }

  leave() {
    this.keepHere();
    this.save();
  }

  // Work of the last moments is saved on leaving; only what could not be saved is worth a question.
  wouldLose() {
    return !this.stopped && this.changes > this.safe && (this.failures > 0 || this.held());
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.copying);
  }

  restore() {
    const kept = recall(this.place);
    if (!kept) return;
    if (Object.entries(kept.fields).every(([name, value]) => this.shows(name, value))) { forget(this.place); return; }
    const panel = makePanel(kept.number === this.number ? "restored" : "older-copy");
    if (kept.number === this.number) this.putBack(kept.fields);
    this.form.prepend(panel);
    panel.querySelector("button")?.addEventListener("click", () => { this.putBack(kept.fields); panel.remove(); });
  }

  shows(name, value) {
    const field = this.form.elements[name];
    return !field || field.type === "hidden" || field.value === value;
  }

  putBack(fields) {
    for (const [name, value] of Object.entries(fields)) {
      const field = this.form.elements[name];
      if (field) field.value = value; // of radio buttons this chooses the one with the value
    }
    // Once every script listens: they look at the fields as if somebody had typed.
    setTimeout(() => this.form.dispatchEvent(new Event("input", { bubbles: true })));
  }
}

function sinceThen(time) {
  const seconds = Math.max(1, Math.round((Date.now() - time) / 1000));
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang);
  return seconds < 60 ? format.format(-seconds, "second") : format.format(-Math.round(seconds / 60), "minute");
}
