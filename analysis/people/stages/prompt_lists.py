"""Prompts that people might ask: those of a study, or of a list, one a line or JSON lines with ids."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from analysis.people.steps import PeopleError
from surveys.models import Study, asked_of_all
from surveys.reading.nesting import NestedTooDeeply, TooManyValues, read_json
from surveys.studies.imports.files import Faults, ImportFault, open_lines
from surveys.studies.wording import RaisedAs

LONGEST_PROMPT, LONGEST_NAME = 20_000, 80  # characters
TEXT_KEYS = ("prompt", "text")
ENDINGS = {".txt": False, ".jsonl": True, ".json": True, ".ndjson": True}


class ListedPrompt(NamedTuple):
    """A prompt; `name` is the id that a list gave it."""

    text: str
    name: str = ""


def prompts_of(study: Study) -> list[ListedPrompt]:
    if study.current is None:
        return []
    rows = study.current.prompts.filter(asked_of_all()).order_by("position")
    return [ListedPrompt(text) for text in rows.values_list("text", flat=True)]


def is_list(named: str) -> bool:
    """Whether this names a file of prompts rather than a study."""
    return Path(named).suffix.lower() in ENDINGS


def read_prompts(path: Path) -> list[ListedPrompt]:
    """Read the prompts of a file. Raises ImportFault with every fault and its line, OSError."""
    faults = Faults()
    with open_lines(path, faults) as lines:
        found = list(_read(lines, ENDINGS.get(path.suffix.lower(), False), faults))
    return checked(found, faults)


def prompts_in(text: str) -> list[ListedPrompt]:
    """Read the prompts of a form's field, one a line, or JSON lines. Raises PeopleError."""
    faults = Faults()
    with RaisedAs(PeopleError, ImportFault):
        return checked(list(_read(text.splitlines(), text.lstrip().startswith("{"), faults)), faults)


def checked(found: list[ListedPrompt], faults: Faults) -> list[ListedPrompt]:
    if not found and not faults.count:
        faults.add(0, "there is no prompt in it: write one a line, or JSON lines with `prompt` and perhaps `id`")
    faults.raise_any()
    return found


def _read(lines: Iterable[str], as_json: bool, faults: Faults) -> Iterator[ListedPrompt]:
    texts: dict[str, int] = {}
    names: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            prompt = _read_object(line) if as_json else ListedPrompt(line.strip())
            _check(prompt)
        except ValueError as fault:
            faults.add(number, str(fault))
            continue
        for what, value, seen in (("prompt", prompt.text, texts), ("id", prompt.name, names)):
            if value and seen.setdefault(value, number) != number:
                faults.add(number, f"has the {what} of line {seen[value]}")
        yield prompt


def _read_object(line: str) -> ListedPrompt:
    try:
        record: Any = read_json(line)
    except (NestedTooDeeply, TooManyValues):
        raise
    except ValueError:
        raise ValueError('is no JSON; a line is {"id": "lima-1", "prompt": "…"}') from None
    text = next((record[key] for key in TEXT_KEYS if key in record), None) if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise ValueError('needs a text in `prompt`; a line is {"id": "lima-1", "prompt": "…"}')
    name = record.get("id", "")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise ValueError("has an `id` that is neither a text nor a number")
    return ListedPrompt(text.strip(), str(name).strip())


def _check(prompt: ListedPrompt) -> None:
    if not prompt.text:
        raise ValueError("has an empty prompt")
    if len(prompt.text) > LONGEST_PROMPT:
        raise ValueError(f"has a prompt of {len(prompt.text):,} characters; the limit is {LONGEST_PROMPT:,}")
    if len(prompt.name) > LONGEST_NAME or not prompt.name.isprintable():
        raise ValueError(f"has an `id` that is no text of at most {LONGEST_NAME} characters on one line")
    if "\x00" in prompt.text or any("\ud800" <= letter <= "\udfff" for letter in prompt.text):
        raise ValueError("has a character that cannot be stored")
