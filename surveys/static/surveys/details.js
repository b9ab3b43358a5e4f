// Which words of a text are personal details: found by the server's own rules, as privacy.py finds them.

const [BEFORE, AFTER, OPENING, MOST] = [400, 200, 300, 30]; // as in privacy.py

// Gives from the rules a function that finds the marks of a text, in its order; `of` is the detail that a mark repeats.
export function readRules(given) {
  const { letters, capitals } = given.at(-2);
  const made = (pattern, flags = "u") => new RegExp(pattern.replaceAll("<L>", letters).replaceAll("<U>", capitals), flags);
  const rules = given.slice(0, -2).map((rule) => ({ ...rule, pattern: made(rule.pattern, `${rule.flags}g`) }));
  const [again, leavePlaces] = [repeats(given.at(-2), made), withoutPlaces(given.at(-1))];
  return (text) => {
    const found = rules.flatMap((rule) => [...text.matchAll(rule.pattern)].map((match) => {
      const detail = match[1] ?? match[0]; // a group, where there is one, ends the match
      const end = match.index + match[0].length;
      return { ...rule, detail, of: detail, end, start: end - detail.length };
    }));
    let last = 0; // of two that overlap the one that begins first counts
    found.sort((one, other) => one.start - other.start);
    const marks = leavePlaces(text, found.filter(({ start, end }) => start >= last && (last = end)));
    return marks.length ? again(text, marks) : marks;
  };
}

// A link to a chat with no more than a few words is no answer.
export function isLinkAlone(text, marks, { words, longest }) {
  if (text.length > longest || !marks.some(({ kind }) => kind === "chat-link")) return false;
  const rest = marks.reduceRight((left, { start, end }) => left.slice(0, start) + left.slice(end), text).split(/\s+/).filter(Boolean);
  return rest.length <= words && !(rest.length && /^[A-Z][^\p{L}]*$/u.test(rest[0]));
}

// Every further place of a detail: whole words, whatever their case and accents, a name with its endings.
function repeats({ letter, fold, part: parted, word, joined, forms, words, names, details }, made) {
  const [folded, apart, wordly, unspaced] = [made(fold, "gu"), made(parted, "gu"), made(word, "gu"), made(joined)];
  const lowered = (text) => text.replace(folded, (sign) => sign.normalize("NFD")[0]).toLowerCase();
  const lettered = new Set(words.split(" "));
  const [open, close] = [`(?<!${letter})`, `(?!${letter})`];
  const spelled = (plain, name) => {
    let pattern = "";
    for (let at = 0; at < plain.length; at += 1) {
      pattern += `${plain[at].replace(/[\\^$.*+?()[\]{}|/]/, "\\$&")}[\\u0300-\\u036f]?`;
      const isUmlaut = "äöü".includes(name[at].toLowerCase());
      const isSpelledOut = "aou".includes(plain[at]) && plain[at + 1] === "e";
      if (isUmlaut || isSpelledOut) pattern += "e?";
      if (isSpelledOut) at += 1;
    }
    return pattern;
  };
  const ofName = (part) => {
    const plain = lowered(part);
    if (unspaced.test(plain)) return plain;
    const { before = "", cut = "", after = "" } = forms.find(({ of }) => new RegExp(of, "u").test(plain)) ?? {};
    const stem = cut && plain.length > 3 ? plain.replace(new RegExp(cut, "u"), "") : plain;
    const end = after && plain.length > 2 ? `(${after})?` : "()";
    return `${open}${before && `(?:${before})?`}${spelled(stem, part)}${end}${close}`;
  };
  const patterns = (mark, plain) => {
    if (mark.kind !== "name") {
      const tokens = (mark.detail.match(wordly) ?? []).map(lowered);
      const isTold = tokens.join("").length > 4 && plain.split(tokens[0], 3).length > 2;
      return isTold ? [`${open}()${tokens.join(`(?:(?!${letter})[^\\n]){0,3}`)}${close}`] : [];
    }
    const parts = mark.detail.match(apart) ?? [];
    const single = parts.filter((part) => part.length > 1 && !(parts.length > 1 && lettered.has(lowered(part))));
    return [...new Set(single)].map(ofName);
  };
  return (text, marks) => {
    const [plain, taken] = [lowered(text), new Uint8Array(text.length)];
    for (const { start, end } of marks) taken.fill(1, start, end);
    const [found, left, seen] = [[...marks], { name: names, other: details }, new Set()];
    for (const mark of marks) {
      const kind = mark.kind === "name" ? "name" : "other";
      if (seen.has(mark.detail) || !left[kind]) continue;
      seen.add(mark.detail);
      left[kind] -= 1;
      for (const pattern of patterns(mark, plain)) {
        for (const match of plain.matchAll(new RegExp(pattern, "gu"))) {
          const [start, end] = [match.index, match.index + match[0].length];
          const detail = text.slice(start, end);
          const isSmall = mark.kind === "name" && detail[0] === detail[0].toLowerCase() && detail[0] !== detail[0].toUpperCase();
          const isWord = isSmall && (match[1] || end - start < 3 || lettered.has(match[0]));
          if (isWord || taken.subarray(start, end).includes(1)) continue;
          taken.fill(1, start, end);
          found.push({ ...mark, detail, start, end });
        }
      }
    }
    return found.sort((one, other) => one.start - other.start);
  };
}

// Leaves out the marks that are not personal: a place's that is open to all, by the server's own rule for them.
function withoutPlaces({ ends, public: kinds, flags, ...signs }) {
  const between = new RegExp(ends, "u");
  const has = (sign, text) => new RegExp(signs[sign], flags).test(text);
  const isPublic = (text, mark) => {
    const before = text.slice(Math.max(0, mark.start - BEFORE), mark.start).split(between).at(-1);
    const after = text.slice(mark.end, mark.end + AFTER).split(between)[0];
    const item = before + text.slice(mark.start, mark.end) + after;
    if (!has("list", item) || has("own", item)) return false;
    return has("place", item) || (has("address", item) && has("place", text.slice(0, OPENING)));
  };
  return (text, marks) => {
    const numbers = marks.filter((mark) => kinds.includes(mark.kind)).slice(0, MOST);
    const isOut = new Set(numbers.filter((mark) => isPublic(text, mark)));
    return marks.filter((mark) => !isOut.has(mark));
  };
}
