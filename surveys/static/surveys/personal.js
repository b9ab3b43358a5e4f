// Personal details in a pasted answer: found here by the server's own rules, before anything is sent.

import { isLinkAlone, readRules } from "./details.js";
import { makePanel } from "./page.js";

export class Personal {
  // `decided` is called when the person has decided about them, or undone it.
  constructor(form, decided) {
    Object.assign(this, { form, decided, box: form.elements.text, html: form.elements.html, marks: null, leftIn: new Set(), before: null });
    this.place = form.querySelector("[data-personal]");
    this.box.addEventListener("input", () => { this.before = null; });
    this.place.addEventListener("click", (event) => this.decide(event.target.dataset.decide));
  }

  recall() { this.counts = JSON.parse(this.form.elements.removed.value || "{}"); }

  async load() {
    const rules = await (await fetch(this.form.dataset.rules)).json();
    this.link = rules.at(-2).link;
    this.marks = readRules(rules);
  }

  find() {
    if (!this.marks) return [];
    if (this.read !== this.box.value) [this.read, this.found] = [this.box.value, this.marks(this.box.value)];
    return this.found;
  }

  undecided() { return this.find().filter(({ of }) => !this.leftIn.has(of)); }

  get isLink() { return isLinkAlone(this.box.value, this.find(), this.link ?? {}); }

  // Nothing leaves the page before the rules are here and every detail is decided about.
  get open() { return this.marks === null || this.isLink || this.undecided().length > 0; }

  show() {
    const places = new Map();
    for (const { of } of this.isLink ? [] : this.undecided()) places.set(of, (places.get(of) ?? 0) + 1);
    const details = [...places];
    const shown = JSON.stringify([details, this.before, this.isLink]);
    const panel = () => (this.isLink ? makePanel("link") : details.length ? this.ask(details) : this.before && makePanel("taken-out"));
    if (shown !== this.shown) this.place.replaceChildren(panel() ?? ""); // the same again would be read aloud again
    this.shown = shown;
    return this.isLink || details.length > 0;
  }

  ask(details) {
    const panel = makePanel("personal");
    for (const [detail, count] of details) {
      const line = makePanel("detail");
      line.querySelector("input").value = line.querySelector("mark").textContent = detail;
      line.querySelector("small").textContent = count > 1 ? `× ${count}` : "";
      panel.querySelector("ul").append(line);
    }
    return panel;
  }

  decide(how) {
    if (how === "keep") for (const { of } of this.undecided()) this.leftIn.add(of);
    else if (how === "remove") this.takeOut(new Set([...this.place.querySelectorAll(":checked")].map(({ value }) => value)));
    else if (how === "undo") [this.box.value, this.counts, this.html.value, this.before] = [...this.before, null];
    else return;
    this.decided();
    this.box.focus();
  }

  // Those that are ticked, wherever they stand, and with them the layout, which holds the same words; others are left in.
  takeOut(ticked) {
    this.before = [this.box.value, { ...this.counts }, this.html.value];
    for (const { of } of this.undecided()) if (!ticked.has(of)) this.leftIn.add(of);
    const out = this.undecided().reverse(); // as they stand in the text before the first goes
    for (const { start, end, kind, replacement } of out) {
      this.box.value = this.box.value.slice(0, start) + replacement + this.box.value.slice(end);
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
      this.html.value = "";
    }
  }

  // What the server is told: how many were taken out, and whether some were left in on purpose.
  fields() {
    const removed = Object.keys(this.counts).length ? JSON.stringify(this.counts) : "";
    const leftIn = this.leftIn.size > 0 && this.find().length > 0;
    return { removed, privacy: leftIn ? "keep" : removed && "remove" };
  }
}
