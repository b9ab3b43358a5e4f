"""Labelled examples: read from files, stored, and divided by group into training, validation, test."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from django.db import transaction

from analysis.models import Example, ExampleSet
from analysis.models.training import TrainingTask
from analysis.people.corpora.records import storable
from surveys.models.hashes import hash_text
from surveys.studies.imports.files import Faults, batches, open_lines, read_json_lines, refuse

BATCH = 500
LONGEST_LINE = 4_000_000
LONGEST_KEY = 200
EXAMPLE = 1_000  # bytes of an example beside its texts
TRAIN, VALID, TEST = "train", "valid", "test"
# Names of parts, in any case.
SPLITS = {part: part for part in (TRAIN, VALID, TEST)}
SPLITS |= {"training": TRAIN, "validation": VALID, "dev": VALID, "val": VALID, "testing": TEST}
SHARES = ((TRAIN, 0.7), (VALID, 0.85), (TEST, 1.0))
RULE = "split 1"  # raise when the rule changes: it is part of the hash
# Fields that name a line's group; the first one present counts, else the text that labels are about.
GROUPS = ("group", "user", "topic", "tree", "claim_id")
SUPPORT = {"supported": 1.0, "unsupported": 0.0, "not_supported": 0.0, "partially_supported": 0.0, "generic": 0.0}


class TrainingError(Exception):
    """A refusal: nothing was done, and the message says why and what to do."""


@dataclass(frozen=True)
class Labelled:
    """One example as a model sees it. `label`: the share of people who say yes, or who prefer the first response.

    `key`: its line or item; `turn`: the list in which it is ranked, by default its line; `ratings`: what each person
    said, from 0 to 1, if known.
    """

    key: str
    part: str
    group: str
    split: str
    first: str
    second: str
    third: str = ""
    context: str = ""
    label: float = 0.0
    ratings: tuple[tuple[str, float], ...] = ()
    user: str = ""
    corpus: str = ""
    turn: str = ""

    @property
    def is_positive(self) -> bool:
        return self.label > 0.5


# --- lines ------------------------------------------------------------------


class LineFault(ValueError):
    """A fault in a line."""


def read_pairs(row: Mapping[str, Any], key: str) -> Iterator[Labelled]:
    """Read `prompt` and `attributes`, each with `relevant`."""
    attributes = row["attributes"]
    if not isinstance(attributes, list) or not all(isinstance(each, dict) for each in attributes):
        raise LineFault("attributes must be a list of objects with id, text and relevant")
    prompt = text_of(row, "prompt")
    for number, each in enumerate(attributes, 1):
        label = each.get("relevant")
        if isinstance(label, str) or not isinstance(label, int | float) or not 0 <= label <= 1:
            raise LineFault(f"attribute {number}: relevant is {label!r}; it must be 0 or 1")
        part = key_of(each.get("id", number), f"the id of attribute {number}")
        yield Labelled(key, part, prompt, "", prompt, text_of(each, "text"), label=float(label))


def read_support(row: Mapping[str, Any], key: str) -> Iterator[Labelled]:
    """Read `evidence`, `statement` and `label`."""
    label = row["label"]
    if not isinstance(label, str) or label not in SUPPORT:
        raise LineFault(f"label is {str(label)[:40]!r}; it must be one of {', '.join(SUPPORT)}")
    evidence = text_of(row, "evidence")
    yield Labelled(key, "", evidence, "", evidence, text_of(row, "statement"), label=SUPPORT[label])


def read_chosen(row: Mapping[str, Any], key: str) -> Iterator[Labelled]:
    """Read `prompt`, `chosen` and `rejected`; the hash of the key decides which of them stands first."""
    prompt, chosen, rejected = (text_of(row, name) for name in ("prompt", "chosen", "rejected"))
    first = hash_text(key)[0] < "8"
    both = (chosen, rejected) if first else (rejected, chosen)
    yield Labelled(key, "", prompt, "", prompt, *both, label=float(first))


def read_preference(row: Mapping[str, Any], key: str) -> Iterator[Labelled]:
    """Read `prompt`, `response_1`, `response_2` and `label`, 1 or 2: the better one."""
    if row["label"] not in (1, 2):
        raise LineFault(f"label is {row['label']!r}; it must be 1 or 2, the better response")
    prompt, one, two = (text_of(row, name) for name in ("prompt", "response_1", "response_2"))
    yield Labelled(key, "", prompt, "", prompt, one, two, label=float(row["label"] == 1))


# Task and reader of each shape, by the fields that identify it.
SHAPES: dict[tuple[str, ...], tuple[TrainingTask, Callable[[Mapping[str, Any], str], Iterator[Labelled]]]] = {
    ("prompt", "attributes"): (TrainingTask.RELEVANCE, read_pairs),
    ("evidence", "statement", "label"): (TrainingTask.VERIFIER, read_support),
    ("prompt", "chosen", "rejected"): (TrainingTask.REWARD, read_chosen),
    ("prompt", "response_1", "response_2", "label"): (TrainingTask.REWARD, read_preference),
}


def key_of(value: Any, name: str) -> str:
    """Return a text as a key. Raises LineFault if it is too long: cut off, it might not be unique."""
    key = str(value).strip()
    if len(key) > LONGEST_KEY:
        raise LineFault(f"{name} has {len(key):,} characters; the limit is {LONGEST_KEY}: shorten or hash it")
    return key


def text_of(row: Mapping[str, Any], name: str) -> str:
    """Return a text, or the messages of a conversation one after the other. Raises LineFault."""
    value = row.get(name)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        value = "\n".join(str(each.get("content") or "") for each in value)
    if not isinstance(value, str) or not value.strip():
        raise LineFault(f"{name} must be a text")
    return storable(value)


def read_line(row: Mapping[str, Any], number: int) -> tuple[TrainingTask, list[Labelled]]:
    """Read the examples of one line. Raises LineFault."""
    for fields, (task, read) in SHAPES.items():
        if all(name in row for name in fields):
            key = key_of(row.get("id", number), "id")
            before = text_of(row, "context") if row.get("context") else ""
            group = next((str(row[name]) for name in GROUPS if row.get(name) not in (None, "")), "")
            if row.get("year") and group:  # topics are numbered anew each year
                group = f"{row['year']} {group}"
            group = key_of(group, "the group")
            split = str(row.get("split") or "").strip()[:20]
            split = SPLITS.get(split.lower(), split)
            found = [
                replace(each, group=group or hash_text(each.group), split=split, context=before)
                for each in read(row, key)
            ]
            return task, found
    known = "; ".join(", ".join(fields) for fields in SHAPES)
    raise LineFault(f"has none of the known shapes, which have these fields: {known}")


# --- splits -----------------------------------------------------------------


def part_of(group: str, salt: str = "") -> str:
    """Assign a group to a part by its hash: 70 % training, 15 % validation, 15 % test."""
    place = int(hash_text(f"{RULE} {salt} {group}")[:8], 16) / 16**8
    return next(name for name, end in SHARES if place < end)


def fill_split(examples: Iterable[Labelled]) -> list[Labelled]:
    """Fill in missing parts: that of another line of the group, if it names one, else one by the group's hash."""
    known = list(examples)
    given = {each.group: each.split for each in reversed(known) if each.split}
    return [each if each.split else replace(each, split=given.get(each.group) or part_of(each.group)) for each in known]


def came_with_split(examples: Iterable[Labelled]) -> bool:
    """Whether the file named parts. Parts that an earlier version filled in at the import equal those of the hash."""
    return any(each.split and each.split != part_of(each.group) for each in examples)


def split_by(examples: Sequence[Labelled], by: str) -> list[Labelled]:
    """Divide anew: by `users`, `items` (each prompt or evidence) or `groups`; by `paper` as the paper divides its own;
    with `corpus:NAME` that corpus is the test part. Raises TrainingError.
    """
    if by.startswith(LEFT_OUT):
        return leave_out(examples, by.removeprefix(LEFT_OUT))
    if by == "paper":
        return split_as_published(examples)
    if by == "users" and not all(each.user for each in examples):
        raise TrainingError("These examples do not say which user they are about: split by groups or items.")
    return [replace(each, split=part_of(each.group)) for each in regroup(examples, by)]


def regroup(examples: Iterable[Labelled], by: str) -> list[Labelled]:
    """Name groups as `split_by` does; only users, items and a corpus give them other names."""
    if by.startswith(LEFT_OUT):
        return [replace(each, group=f"{each.corpus} {each.group}") for each in examples]
    if by == "users":
        return [replace(each, group=each.user) for each in examples]
    return [replace(each, group=hash_text(each.first)) if by == "items" else each for each in examples]


LEFT_OUT = "corpus:"  # prefix of a split that leaves one corpus out
APART = 5  # prompts of each of the paper's validation and test parts


def leave_out(examples: Sequence[Labelled], corpus: str) -> list[Labelled]:
    """Make this corpus the test part; a fifth of the others' groups validate. Both may share a prompt."""
    if not any(each.corpus == corpus for each in examples):
        known = ", ".join(sorted({each.corpus for each in examples if each.corpus})) or "none is named"
        raise TrainingError(f"No example is of the corpus {corpus} ({known}).")
    return [
        replace(each, split=TEST if each.corpus == corpus else VALID if hash_text(each.group)[0] in "012" else TRAIN)
        for each in regroup(examples, LEFT_OUT)
    ]


def split_as_published(examples: Sequence[Labelled]) -> list[Labelled]:
    """Make the last five prompts in the order of items validate and the five before them test; of 41, 31 are left.

    The paper gives places (33 to 37 test, 38 to 42 validate) without the prompts, so its exact parts are not known.
    """
    groups = list(dict.fromkeys(each.group for each in examples))
    if len(groups) <= 2 * APART:
        raise TrainingError(f"The paper's parts take more than {2 * APART} prompts; there are {len(groups)}.")
    parts = dict.fromkeys(groups[-APART:], VALID) | dict.fromkeys(groups[-2 * APART : -APART], TEST)
    return [replace(each, split=parts.get(each.group, TRAIN)) for each in examples]


def check_groups(examples: Sequence[Labelled]) -> None:
    """Raise TrainingError if a group is in two parts."""
    if words := say_divided(examples):
        raise TrainingError(words)


def say_divided(examples: Iterable[Labelled]) -> str:
    """Say which groups are in two parts and what to do; empty if none is."""
    parts: dict[str, set[str]] = {}
    for each in examples:
        parts.setdefault(each.group, set()).add(each.split)
    wrong = sorted(group for group, found in parts.items() if len(found) > 1)
    if not wrong:
        return ""
    named = ", ".join(f"{group[:40]} ({' and '.join(sorted(parts[group]))})" for group in wrong[:3])
    return (
        f"{len(wrong):,} groups lie in more than one part of the split, such as {named}, so a test would say "
        "too much. Divide anew: --split groups."
    )


def hash_labels(examples: Iterable[Labelled]) -> str:
    """Hash everything that a model learns from."""
    rows = sorted(
        json.dumps([each.key, each.part, each.first, each.second, each.third, each.context, each.label])
        for each in examples
    )
    return hash_text("\n".join(rows))


def hash_split(examples: Iterable[Labelled]) -> str:
    return hash_text(json.dumps(sorted({(each.group, each.split) for each in examples})))


# --- sets -------------------------------------------------------------------


def import_examples(name: str, path: Path) -> dict[str, Any]:
    """Store a file's examples under this name, all or none. Raises ImportFault, TrainingError, OSError."""
    if ExampleSet.objects.filter(name=name).exists():
        raise TrainingError(f"There are examples called {name} already; give these another name.")
    found, task = read_file(path)
    with transaction.atomic():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        kept = ExampleSet.objects.create(name=name, task=task, file=path.name[:200], sha256=digest)
        rows = (
            Example(set=kept, position=number, **{field: getattr(each, field) for field in FIELDS})
            for number, each in enumerate(found, 1)
        )
        for batch in batches(rows, BATCH, lambda row: len(row.context + row.first + row.second + row.third)):
            Example.objects.bulk_create(batch)
    given = sum(bool(each.split) for each in found)
    split = "given" if given == len(found) else "partly given" if given else "none"
    filled = fill_split(found)
    about = {"examples": name, "task": task, "file": path.name, "split": split, "divided": say_divided(filled)}
    return about | count_parts(filled)


FIELDS = ("key", "part", "group", "split", "context", "first", "second", "third", "label")


def read_file(path: Path) -> tuple[list[Labelled], TrainingTask]:
    """Read every example of a file and its task. Raises ImportFault with all faults."""
    faults, found = Faults(), []
    tasks: dict[TrainingTask, int] = {}
    seen: dict[tuple[str, str], int] = {}
    with open_lines(path, faults, LONGEST_LINE, LONGEST_LINE) as lines:
        for number, row in read_json_lines(lines, faults):
            try:
                task, examples = read_line(row, number)
            except LineFault as fault:
                faults.add(number, str(fault))
                continue
            tasks.setdefault(task, number)
            for each in examples:
                if (each.key, each.part) in seen:
                    line = seen[each.key, each.part]
                    faults.add(number, f"{f'{each.key} {each.part}'.strip()} stands in line {line} already")
                seen[each.key, each.part] = number
                faults.keep(each.group, each.context, each.first, each.second, each.third, more=EXAMPLE)
            found += examples
    if len(tasks) > 1:
        named = " and ".join(f"line {line} is for {task}" for task, line in tasks.items())
        faults.add(0, f"a file has examples for one task: {named}")
    faults.raise_any()
    if not found:
        refuse("there is no example in the file")
    return found, next(iter(tasks))


def count_parts(examples: Sequence[Labelled]) -> dict[str, Any]:
    """Count examples and groups, together and by part, and positive examples by part."""
    parts = Counter(each.split for each in examples)
    return {
        "n": len(examples),
        "groups": len({each.group for each in examples}),
        "parts": {
            name: {
                "n": number,
                "groups": len({each.group for each in examples if each.split == name}),
                "positive": sum(each.is_positive for each in examples if each.split == name),
            }
            for name, number in sorted(parts.items())
        },
    }


def find_set(name: str) -> ExampleSet:
    found = ExampleSet.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(ExampleSet.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise TrainingError(f"There are no examples called {name}. There are: {known}. import_examples brings some.")
    return found


def load_set(kept: ExampleSet) -> list[Labelled]:
    return [Labelled(**row) for row in kept.examples.order_by("position").values(*FIELDS)]


# --- for training elsewhere -------------------------------------------------

FORMS = ("huggingface", "verl")
PLACES: dict[str, tuple[str, str, str]] = {
    TrainingTask.VERIFIER: ("evidence", "statement", ""),
    TrainingTask.RELEVANCE: ("prompt", "attribute", ""),
    TrainingTask.REWARD: ("prompt", "response_1", "response_2"),
}
QUESTIONS: dict[str, str] = {
    TrainingTask.VERIFIER: "Evidence:\n{first}\n\nStatement:\n{second}\n\nDoes the evidence support the statement?",
    TrainingTask.RELEVANCE: (
        "Prompt:\n{first}\n\nAbout the user:\n{second}\n\nWould the response change if one knew this?"
    ),
    TrainingTask.REWARD: (
        "Prompt:\n{first}\n\nResponse 1:\n{second}\n\nResponse 2:\n{third}\n\nIs response 1 the better one?"
    ),
}
FORM = "\nThink about it first. Then end with <answer>yes</answer> or <answer>no</answer>."


# The reward function for verl, with the same rule as tier C.
REWARD_FILE = "reward.py"
REWARD = '''"""The reward of a reply: 1 for the answer of most people, and 0.1 for one answer in its form at the end."""

import re

ANSWER = re.compile(r"<answer>\\s*(yes|no)\\s*</answer>", re.IGNORECASE)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    found = ANSWER.findall(solution_str)
    if len(found) != 1 or not solution_str.rstrip().lower().endswith("</answer>"):
        return 0.0
    return 0.1 + float(found[0].lower() == ground_truth)
'''


def ask(task: str, each: Labelled) -> str:
    """Write the example as a question to a model that reasons before it answers."""
    return QUESTIONS[task].format(first=each.first, second=each.second, third=each.third) + FORM


def write_examples(folder: Path, name: str, task: str, examples: Sequence[Labelled], form: str) -> list[str]:
    """Write a file for each part of the split, and a card, all or none; return their names. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="unfinished-") as unfinished:
        files = _write_files(Path(unfinished), name, task, examples, form)
        for file in files:
            Path(unfinished, file).replace(folder / file)
    return files


def _write_files(folder: Path, name: str, task: str, examples: Sequence[Labelled], form: str) -> list[str]:
    parts = {part: [each for each in examples if each.split == part] for part in sorted({e.split for e in examples})}
    files = []
    for part, rows in parts.items():
        if form == "verl":
            path = folder / f"{part}.parquet"
            pd.DataFrame([_for_verl(name, task, each, place) for place, each in enumerate(rows)]).to_parquet(path)
        else:
            path = folder / f"{part}.jsonl"
            lines = (json.dumps(_as_row(task, each), ensure_ascii=False) + "\n" for each in rows)
            path.write_text("".join(lines), encoding="utf-8")
        files.append(path.name)
    (folder / "README.md").write_text(_card(name, task, examples, files), encoding="utf-8")
    if form == "verl":
        (folder / REWARD_FILE).write_text(REWARD, encoding="utf-8")
    return [*files, *([REWARD_FILE] if form == "verl" else []), "README.md"]


def _as_row(task: str, each: Labelled) -> dict[str, Any]:
    texts = zip(PLACES[task], (each.first, each.second, each.third), strict=True)
    named = {"id": each.key, "attribute_id": each.part, "group": each.group, "context": each.context}
    return named | {place: text for place, text in texts if place} | {"label": each.label}


def _for_verl(name: str, task: str, each: Labelled, place: int) -> dict[str, Any]:
    return {
        "data_source": name,
        "prompt": [{"role": "user", "content": ask(task, each)}],
        "ability": task,
        "reward_model": {"style": "rule", "ground_truth": "yes" if each.is_positive else "no"},
        "extra_info": {"split": each.split, "index": place, "id": each.key, "attribute_id": each.part},
    }


def _card(name: str, task: str, examples: Sequence[Labelled], files: Sequence[str]) -> str:
    """Write the card in the form that Hugging Face reads."""
    splits = [f"  - split: {file.rpartition('.')[0]}\n    path: {file}" for file in files]
    head = ["---", "configs:", "- config_name: default", "  data_files:", *splits, "---", "", f"# {name}", ""]
    said = f"Examples for the task {task}. `label` is the share of people who say yes; no group lies in two parts."
    return "\n".join([*head, said, "", *format_parts(count_parts(examples)["parts"])]) + "\n"


def format_parts(parts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Make a Markdown table."""
    rows = [f"| {name} | {part['n']:,} | {part['groups']:,} | {part['positive']:,} |" for name, part in parts.items()]
    return ["| part | examples | groups | positive |", "|---|---|---|---|", *rows]
