// How an answer came into the box: exactly what `read_evidence` (surveys/capture.py) documents, and nothing else.

// Keyboards of phones paste from a strip of their own, without a paste event; nobody types this much at once.
const [MORE_THAN_TYPED, LARGEST_HTML] = [100, 2_000_000];
// What hands do on the page, in counts; those that a script has made are "untrusted".
const HANDS = { keydown: "keys", pointermove: "pointer", pointerdown: "presses", wheel: "scrolls", touchmove: "scrolls", paste: "" };

export class Evidence {
  constructor(box, html) {
    Object.assign(this, { box, html, size: box.value.length, coming: null, left: 0 });
    box.addEventListener("paste", (event) => this.announcePaste(event.clipboardData));
    box.addEventListener("input", (event) => this.noteInput(event.inputType));
    for (const kind of Object.keys(HANDS)) document.addEventListener(kind, (event) => this.noteHand(event), { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.left = Date.now();
      else if (this.left) this.notes.away_ms += Date.now() - this.left;
    });
  }

  // Goes on from the notes of an earlier visit to the page.
  recall(known) {
    this.skip();
    this.notes = { away_ms: 0, pasted: 0, typed: 0, removed: 0, edited_after: false, pastes: [], hands: {}, ...JSON.parse(known || "{}") };
  }

  announcePaste(clipboard) {
    const [plain, html] = ["text/plain", "text/html"].map((type) => clipboard.getData(type));
    const replacesAll = this.box.selectionEnd - this.box.selectionStart === this.box.value.length;
    this.html.value = ((replacesAll ? "" : this.html.value) + html).slice(0, LARGEST_HTML);
    this.coming = { at: Date.now(), plain: plain.replace(/\r\n/g, "\n").length, html: html.length };
  }

  noteInput(kind) {
    const change = this.skip();
    if (!kind) return; // a script's doing
    const { notes } = this;
    if (/^insertFrom(Paste|Drop)/.test(kind) || (kind.startsWith("insert") && change > MORE_THAN_TYPED)) {
      const paste = this.coming ?? { at: Date.now(), plain: Math.max(change, 0), html: 0 };
      notes.pastes.push(paste);
      notes.pasted += paste.plain;
      notes.removed += Math.max(paste.plain - change, 0);
    } else {
      notes[change > 0 ? "typed" : "removed"] += Math.abs(change);
      notes.edited_after ||= notes.pastes.length > 0;
    }
    this.coming = null;
  }

  noteHand({ type, isTrusted }) {
    const kind = isTrusted ? HANDS[type] : "untrusted";
    if (kind) this.notes.hands[kind] = (this.notes.hands[kind] ?? 0) + 1;
  }

  // Take the text as it is, and give the change of its length.
  skip() {
    const change = this.box.value.length - this.size;
    this.size += change;
    return change;
  }

  noteOnce(name) { this.notes[name] ??= Date.now(); }

  toJSON() { return { ...this.notes, length: this.size, automated: navigator.webdriver === true }; }
}
