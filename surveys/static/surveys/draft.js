// Saves what stands in a form while somebody works: on the server, and in this browser until the server has it.

import { makePanel, sayAloud, showState, stored, words } from "./page.js";

const [DELAY, LONGEST_WAIT] = [1500, 30_000];
const LARGEST_KEEPALIVE = 60_000; // browsers refuse more in a request that may outlive its page

const readFields = (form) =>
  Object.fromEntries([...new FormData(form)].filter(([name]) => form.elements[name].type !== "hidden"));

export class Draft {
  // `read` gives the fields to save, `held` tells that nothing may be sent yet, `checked` gets the answer to a check.
  constructor(form, { read = () => readFields(form), held = () => false, checked = () => {} } = {}) {
    Object.assign(this, { form, read, held, checked, number: Number(form.dataset.number) });
    this.place = `draft:${location.pathname}`;
    this.changes = this.safe = this.savedAt = this.failures = 0; // safe: the changes that the server has confirmed
    this.check = this.saving = this.stopped = false;
    form.addEventListener("input", () => this.changed(), true); // before those who then hurry it
    addEventListener("online", () => this.save());
    addEventListener("beforeunload", (event) => { if (this.wouldLose()) event.preventDefault(); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) { this.keepHere(); this.save(); } });
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
    if (this.changes > this.safe && !this.stopped) stored(this.place, { number: this.number, fields: this.read() });
  }

  async save() {
    const { changes, check } = this;
    if (this.stopped || this.saving || !(check || changes > this.safe) || this.held()) return;
    this.saving = true;
    const answer = await this.send(check).catch(() => ({}));
    this.saving = false;
    this.number = answer.number ?? this.number; // also when the form was sent meanwhile: it may be refused
    if (this.stopped) return;
    if (answer.number) this.confirm(answer, changes, check);
    else if (answer.newer) this.stop(answer.message);
    else if (answer.next) location.assign(answer.next); // the part has ended in another window
    else this.tryAgain();
  }

  async send(check) {
    const body = new URLSearchParams({ ...this.read(), step: this.form.dataset.step, number: this.number });
    if (check) body.set("check", "1");
    const keepalive = document.hidden && body.toString().length < LARGEST_KEEPALIVE;
    const request = { method: "POST", body, keepalive, headers: { Accept: "application/json" } };
    return (await fetch(this.form.dataset.autosave, request)).json();
  }

  confirm(answer, changes, check) {
    if (this.failures || !this.savedAt) sayAloud(words.savedNow);
    Object.assign(this, { safe: changes, savedAt: Date.now(), failures: 0 });
    this.show();
    if (this.changes > changes) return this.plan(DELAY);
    stored(this.place, null);
    if (check) this.checked(answer);
    this.check = false;
  }

  tryAgain() {
    if (!this.failures) sayAloud(words.notSaved);
    this.failures += 1;
    this.plan(Math.min(1000 * 2 ** this.failures, LONGEST_WAIT));
    this.show();
  }

  show() {
    if (this.stopped) return;
    const seconds = Math.max(1, Math.round((Date.now() - this.savedAt) / 1000));
    const ago = seconds < 60 ? [-seconds, "second"] : [-Math.round(seconds / 60), "minute"];
    const time = new Intl.RelativeTimeFormat(document.documentElement.lang).format(...ago);
    if (this.failures) showState(words.notSaved, true);
    else if (this.changes > this.safe) showState(words.pending);
    else if (this.savedAt) showState(words.saved.replace("%s", time));
  }

  // What was written last is saved on leaving; only what could not be saved is worth a question.
  wouldLose() {
    return !this.stopped && this.changes > this.safe && (this.failures > 0 || this.held());
  }

  stop(reason = "") {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.copying);
    showState(reason, true);
    if (reason) sayAloud(reason);
  }

  // A copy made after the server's draft is put back; one that a newer draft has overtaken is offered.
  restore() {
    const [kept, { elements }] = [stored(this.place), this.form];
    const differs = ([name, value]) => elements[name] && elements[name].type !== "hidden" && elements[name].value !== value;
    if (!kept || !Object.entries(kept.fields).some(differs)) return stored(this.place, null);
    const panel = makePanel(kept.number === this.number ? "restored" : "older-copy");
    const putBack = () => {
      const { shown_in: _, ...fields } = kept.fields; // the message stands as this page shows it
      for (const [name, value] of Object.entries(fields)) if (elements[name]) elements[name].value = value;
      for (const box of this.form.querySelectorAll("[type=checkbox]:is([name^=name-], [data-kept])")) box.checked = box.name in fields;
      this.form.dispatchEvent(new Event("input"));
    };
    this.form.prepend(panel);
    panel.querySelector("button")?.addEventListener("click", () => { putBack(); panel.remove(); });
    if (kept.number === this.number) setTimeout(putBack); // once every script listens
  }
}
