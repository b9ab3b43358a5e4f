// Personal details in a pasted answer: found here by the server's own rules, before anything is sent.

import { makePanel, words } from "./page.js";

const MOST_SHOWN = 20;

export class Personal {
  // `changed` is called when the person has decided, or undone it.
  constructor(form, changed) {
    Object.assign(this, { form, changed, box: form.elements.text, rules: null, left: new Set(), before: null });
    this.place = form.querySelector("[data-personal]");
    this.counts = JSON.parse(form.elements.removed.value || "{}");
    this.box.addEventListener("input", () => { this.before = null; });
  }

  async load() {
    const rules = await (await fetch(this.form.dataset.rules)).json();
    this.rules = rules.map((rule) => ({ ...rule, pattern: new RegExp(rule.pattern, `${rule.flags}g`) }));
  }

  find() {
    const text = this.box.value;
    const found = (this.rules ?? []).flatMap(({ kind, pattern, replacement }) =>
      [...text.matchAll(pattern)].map((match) => {
        const end = match.index + match[0].length;
        const personal = match[1] ?? match[0]; // a group, where there is one, ends the match
        return { kind, replacement, words: personal, start: end - personal.length, end };
      }));
    found.sort((one, other) => one.start - other.start);
    return found.filter((mark, at) => !found.slice(0, at).some((earlier) => earlier.end > mark.start));
  }

  undecided() {
    return this.find().filter((mark) => !this.left.has(mark.words));
  }

  // Nothing leaves the page before the rules are here and every detail is decided about.
  get open() {
    return this.rules === null || this.undecided().length > 0;
  }

  show() {
    const marks = this.undecided();
    const panel = marks.length ? makePanel("personal") : this.before !== null ? makePanel("taken-out") : null;
    if (marks.length) this.fill(panel, [...new Set(marks.map((mark) => mark.words))]);
    panel?.addEventListener("click", (event) => this.decide(event.target.dataset.decide));
    if (this.place.textContent !== (panel?.textContent ?? "")) this.place.replaceChildren(...(panel ? [panel] : []));
    return marks.length > 0;
  }

  fill(panel, found) {
    const shown = found.slice(0, MOST_SHOWN).map((detail) => {
      const mark = document.createElement("mark");
      mark.textContent = detail;
      return mark;
    });
    if (found.length > MOST_SHOWN) shown.push(words.more.replace("%s", found.length - MOST_SHOWN));
    panel.querySelector("ul").append(...shown.map((item) => {
      const line = document.createElement("li");
      line.append(item);
      return line;
    }));
  }

  decide(how) {
    if (how === "keep") for (const mark of this.undecided()) this.left.add(mark.words);
    else if (how === "remove") this.takeOut();
    else if (how === "undo") this.putBack();
    else return;
    this.changed();
    this.box.focus();
  }

  takeOut() {
    const before = { text: this.box.value, counts: { ...this.counts } };
    let text = this.box.value;
    for (const mark of this.undecided().reverse()) {
      text = text.slice(0, mark.start) + mark.replacement + text.slice(mark.end);
      this.counts[mark.kind] = (this.counts[mark.kind] ?? 0) + 1;
    }
    this.box.value = text;
    this.before = before;
  }

  putBack() {
    this.box.value = this.before.text;
    this.counts = this.before.counts;
    this.before = null;
  }

  // What the server is told: how many were taken out, and whether some were left in on purpose.
  fields() {
    const removed = Object.keys(this.counts).length ? JSON.stringify(this.counts) : "";
    const leftIn = this.left.size && this.find().length;
    return { removed, privacy: leftIn ? "keep" : removed ? "remove" : "" };
  }
}
