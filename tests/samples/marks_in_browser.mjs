// Finds the personal details of each text on standard input with a browser's RegExp: node marks_in_browser.mjs RULES.
import { readFileSync } from "node:fs";

const rules = JSON.parse(readFileSync(process.argv[2], "utf8"));
const texts = JSON.parse(readFileSync(0, "utf8"));

function findMarks(text) {
  const found = rules.flatMap((rule) =>
    [...text.matchAll(new RegExp(rule.pattern, rule.flags + "g"))].map((match) => {
      const words = match[1] ?? match[0];
      const end = match.index + match[0].length;
      return { kind: rule.kind, words, start: end - words.length, end };
    }),
  );
  found.sort((a, b) => a.start - b.start);
  return found.filter((mark, at) => !found.slice(0, at).some((other) => mark.start < other.end)).map((mark) => [mark.kind, mark.words]);
}

process.stdout.write(JSON.stringify(texts.map(findMarks)));
