// How a label came to be: exactly what `read_trace` (surveys/annotation/labels.py) documents, and nothing else.

const IDLE = 30_000; // of a pause longer than this only so much counts as time at work
const KINDS = { keydown: "keys", pointermove: "pointer", pointerdown: "presses", wheel: "scrolls", touchmove: "scrolls" };
const INPUT = [...Object.keys(KINDS), "scroll", "visibilitychange"];

export class Trace {
  // `changed` is called when another end comes into view.
  constructor(changed) {
    Object.assign(this, { changed, counts: {}, ends: {}, seen: {}, inView: new Set(), active: 0, at: Date.now(), away: document.hidden });
    for (const kind of INPUT) document.addEventListener(kind, (event) => this.note(event), { passive: true, capture: true });
    for (const moved of ["scroll", "resize"]) addEventListener(moved, () => this.reach(), { passive: true });
    this.parts = new IntersectionObserver((entries) => this.notice(entries));
  }

  begin(margin) {
    this.note();
    Object.assign(this, { counts: {}, ends: {}, seen: {}, inView: new Set(), active: 0, hasty: "" });
    this.margin = margin;
    this.parts.disconnect();
    for (const part of document.querySelectorAll("[data-part]")) this.parts.observe(part);
    this.reach();
  }

  note(event) {
    const passed = this.away ? 0 : Math.max(0, Math.min(Date.now() - this.at, IDLE)); // clocks are set back, too
    this.active += passed;
    for (const part of this.inView) this.seen[part] = (this.seen[part] ?? 0) + passed;
    Object.assign(this, { at: Date.now(), away: document.hidden });
    if (!event) return;
    const kind = event.isTrusted ? KINDS[event.type] : "untrusted";
    if (kind) this.counts[kind] = (this.counts[kind] ?? 0) + 1;
  }

  notice(entries) {
    this.note();
    for (const { target, isIntersecting } of entries) this.inView[isIntersecting ? "add" : "delete"](target.dataset.part);
  }

  reach() {
    const isSeen = ({ top, bottom }) => top >= 0 && bottom <= innerHeight - this.margin;
    const reached = this.unread.filter((end) => isSeen(document.querySelector(`[data-end="${end}"]`).getBoundingClientRect()));
    for (const end of reached) this.ends[end] = this.active;
    if (reached.length) this.changed();
  }

  get unread() {
    const ends = [...document.querySelectorAll("[data-end]")].map((line) => line.dataset.end);
    return ends.filter((end) => !(end in this.ends));
  }

  toJSON() {
    const { counts, ends, seen, hasty } = this;
    return { ...counts, ends, seen, hasty, automated: navigator.webdriver === true };
  }
}
