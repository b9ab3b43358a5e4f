// Finds the personal details of each text on standard input with a browser's RegExp: node marks_in_browser.mjs RULES DETAILS.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const rules = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { readRules, isLinkAlone } = await import(pathToFileURL(process.argv[3]));
const find = readRules(rules);
const answers = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  const marks = find(text);
  return [marks.map((mark) => [mark.kind, mark.detail, mark.of]), isLinkAlone(text, marks, rules.at(-2).link)];
});

process.stdout.write(JSON.stringify(answers));
