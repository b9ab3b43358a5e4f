// How an answer came into the box: exactly what read_evidence in surveys/capture.py documents, and nothing else.

// Keyboards of phones paste from a strip of their own, without a paste event; nobody types this much at once.
const MORE_THAN_TYPED = 100;
const LARGEST_HTML = 2_000_000;
const PASTED = ["insertFromPaste", "insertFromDrop", "insertFromPasteAsQuotation"];

export class Evidence {
  // `known` holds the notes of an earlier visit to the page.
  constructor(box, html, known) {
    Object.assign(this, { box, html, size: box.value.length, coming: null, left: 0 });
    this.recall(known);
    box.addEventListener("paste", (event) => this.announcePaste(event.clipboardData));
    box.addEventListener("input", (event) => this.noteInput(event.inputType));
    document.addEventListener("visibilitychange", () => this.noteAbsence());
  }

  recall(known) {
    this.notes = { away_ms: 0, pasted: 0, typed: 0, removed: 0, edited_after: false, pastes: [], ...known };
  }

  announcePaste(clipboard) {
    const plain = clipboard.getData("text/plain").replace(/\r\n?/g, "\n");
    const html = clipboard.getData("text/html");
    const replacesAll = this.box.selectionEnd - this.box.selectionStart === this.box.value.length;
    this.html.value = ((replacesAll ? "" : this.html.value) + html).slice(0, LARGEST_HTML);
    this.coming = { at: Date.now(), plain: plain.length, html: html.length };
  }

  noteInput(kind) {
    const change = this.box.value.length - this.size;
    this.size = this.box.value.length;
    if (!kind) return; // a script's doing
    if (PASTED.includes(kind) || (kind.startsWith("insert") && change > MORE_THAN_TYPED)) {
      const paste = this.coming ?? { at: Date.now(), plain: Math.max(change, 0), html: 0 };
      this.notes.pastes.push(paste);
      this.notes.pasted += paste.plain;
      this.notes.removed += Math.max(paste.plain - change, 0);
    } else {
      this.notes[change > 0 ? "typed" : "removed"] += Math.abs(change);
      this.notes.edited_after ||= this.notes.pastes.length > 0;
    }
    this.coming = null;
  }

  noteAbsence() {
    if (document.hidden) this.left = Date.now();
    else if (this.left) this.notes.away_ms += Date.now() - this.left;
  }

  noteOnce(name) {
    this.notes[name] ??= Date.now();
  }

  // The page itself changed the text; nobody typed.
  skip() {
    this.size = this.box.value.length;
  }

  toJSON() {
    return { ...this.notes, length: this.box.value.length };
  }
}
