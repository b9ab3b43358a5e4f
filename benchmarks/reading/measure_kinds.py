"""How often the paste checks are wrong on sixty pastes in many scripts and layouts.

    python -m benchmarks.reading.measure_kinds [--after] [--json] [--each]

We wrote `pastes_of_many_kinds.toml`: sixty pastes before the last change of the checks, which was made with them in
view, and twenty (`--after`) once the checks were finished. All checks are run on every paste, as on the page.
"""

import argparse
import json
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.reading.check_rates import wilson_interval
from benchmarks.reading.paste_samples import HERE
from surveys.reading.checks import CHECKS, OtherPrompt, Paste, find_problems
from surveys.reading.privacy import is_link_alone

SAMPLE = HERE / "pastes_of_many_kinds.toml"
CHOICES = frozenset({"ice", "lamp"})
LINK = "link"  # asked before all checks, as on the page
NOTHING_SAID = frozenset(name for name, check in CHECKS.items() if not check.message)


class Said(NamedTuple):
    """A paste, the checks that should speak about it, those that do, and those that may."""

    text: str
    faults: frozenset[str]
    found: frozenset[str]
    open: frozenset[str]

    @property
    def missed(self) -> frozenset[str]:
        return self.faults - self.found

    @property
    def false_alarms(self) -> frozenset[str]:
        return self.found - self.faults - self.open


def read_sample(after: bool) -> Iterator[tuple[Paste, frozenset[str], frozenset[str]]]:
    sample = tomllib.loads(SAMPLE.read_text(encoding="utf-8"))
    prompts: dict[str, str] = sample["prompts"]

    def kind(slug: str) -> str:
        return "choice" if slug in CHOICES else "recommendation"

    for row in sample["paste"]:
        if row.get("after", False) != after:
            continue
        slug, earlier = row["prompt"], row.get("earlier", {})
        others = tuple(
            OtherPrompt(other, text, kind(other), earlier.get(other, ""))
            for other, text in prompts.items()
            if other != slug
        )
        letters, wanted = ("ABC", 0) if kind(slug) == "choice" else ("", 5)
        paste = Paste(row["text"], prompts[slug], kind(slug), wanted, letters, other_prompts=others)
        yield paste, frozenset(row.get("faults", ())), frozenset(row.get("open", ()))


def measure(after: bool = False) -> list[Said]:
    return [Said(paste.text, faults, frozenset(say(paste)), free) for paste, faults, free in read_sample(after)]


def say(paste: Paste) -> set[str]:
    if is_link_alone(paste.text):
        return {LINK}
    return {finding.check for finding in find_problems(paste, list(CHECKS))} - NOTHING_SAID


def as_rates(said: list[Said]) -> dict[str, dict[str, Any]]:
    """Count, for each check, the pastes with its fault and how many it misses; the others and its false alarms."""
    rates: dict[str, dict[str, Any]] = {}
    for name in (*(name for name in CHECKS if name not in NOTHING_SAID), LINK):
        faulty = [paste for paste in said if name in paste.faults]
        fine = [paste for paste in said if name not in paste.faults | paste.open]
        missed = sum(name in paste.missed for paste in faulty)
        alarms = sum(name in paste.false_alarms for paste in fine)
        rates[name] = {"faulty": len(faulty), "missed": missed, "fine": len(fine), "false_alarms": alarms}
    fine = [paste for paste in said if not paste.faults]
    disturbed = sum(bool(paste.false_alarms) for paste in fine)
    low, high = wilson_interval(disturbed, len(fine))
    rates["any"] = {"fine": len(fine), "false_alarms": disturbed, "low": low, "high": high}
    faulty = [paste for paste in said if paste.faults]
    unnoticed = sum(not paste.found for paste in faulty)
    low, high = wilson_interval(unnoticed, len(faulty))
    rates["any"] |= {"faulty": len(faulty), "missed": unnoticed, "low_missed": low, "high_missed": high}
    return rates


def as_lines(rates: dict[str, dict[str, Any]]) -> list[str]:
    lines = ["| check | faulty | missed | fine | false alarms |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, rate in rates.items():
        words = "**any check at all**" if name == "any" else name
        lines.append(f"| {words} | {rate['faulty']} | {rate['missed']} | {rate['fine']} | {rate['false_alarms']} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--after", action="store_true", help="the pastes that were put down when the checks stood")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--each", action="store_true", help="the pastes about which a check is wrong")
    options = parser.parse_args()
    said = measure(options.after)
    if options.json:
        print(json.dumps(as_rates(said)))
        return
    print("\n".join(as_lines(as_rates(said))))
    for paste in said if options.each else ():
        if paste.missed or paste.false_alarms:
            print(f"{paste.text[:60]!r}: missed {set(paste.missed)}, false {set(paste.false_alarms)}")


if __name__ == "__main__":
    main()
