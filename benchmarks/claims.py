"""How often Compare claims differences that do not exist, and names those that do: `python -m benchmarks.claims`.

Draws studies in memory and passes them through the parts of the report to its claims; only the database is left out.
"""

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

import django
import numpy as np
import pandas as pd

PARTS = ("heterogeneity", "choices", "distances", "calibration", "cells")
ITEMS, NAMED = 60, 5
BOTS = {"chatgpt": "gpt-4o-mini", "gemini": "gemini-2.0-flash"}
SOURCES = ("offline", "sp-profile", "sp-history", "sp-rag")
RIGHT, SILENT = 0.7, 0.02
POPULATION = 100_000  # answers


@dataclass(frozen=True)
class World:
    """People, and calls of each source and chatbot; `mix` is the share of people with the first chatbot."""

    people: int = 400
    calls: int = 400
    sources: int = 1
    lists: int = 9
    choices: int = 0
    slope: float = 1.0  # of the items' popularity; 0 is flat
    mix: float = 1.0
    planted: float = 0.0  # difference of one item's share between the field and the other sources
    users: int = 0  # simulated users of a sock puppet, who share its calls evenly

    def __str__(self) -> str:
        names = [f"{self.people}/{self.calls}", f"{self.sources} sources", f"{self.lists}+{self.choices} prompts"]
        names += ["flat" if not self.slope else "Zipf", f"mix {self.mix:g}"]
        names += [f"{self.users} users"] * bool(self.users) + [f"planted {self.planted:g}"] * bool(self.planted)
        return ", ".join(names)


def draw_items(rng: np.random.Generator, count: int, world: World, popular: np.ndarray) -> np.ndarray:
    """Draw five different items for each answer: the largest of popularity plus Gumbel noise."""
    return np.argsort(-(popular + rng.gumbel(size=(count, ITEMS))), axis=1)[:, :NAMED]


def plant(rng: np.random.Generator, drawn: np.ndarray, item: int, difference: float, popular: np.ndarray) -> None:
    """Replace items so that the population's share of all answers that name `item` rises by `difference`."""
    without = np.flatnonzero(~(drawn == item).any(axis=1))
    chance = difference / (1 - SILENT) / (1 - shares_in_population(tuple(popular))[item])
    chosen = without[rng.random(len(without)) < chance]
    drawn[chosen, rng.integers(0, NAMED, len(chosen))] = item


@lru_cache
def shares_in_population(popular: tuple[float, ...]) -> np.ndarray:
    """Return each item's share of the answers that name anything."""
    many = draw_items(np.random.default_rng(0), POPULATION, World(), np.array(popular))
    return np.bincount(many.ravel(), minlength=ITEMS) / POPULATION


def make_data(world: World, seed: int, draws: int) -> tuple[Any, str]:
    """Draw a study of this world, as parts compute it, and the item to plant in the first prompt."""
    from analysis.models import Endpoint, Run
    from analysis.report.dataset import OWN, Frame, Frames
    from analysis.report.filters import Filters
    from analysis.report.samples import Data
    from surveys.models import Prompt, Study
    from surveys.studies import lifecycle
    from surveys.studies.files.definitions import read_study

    rng = np.random.default_rng(seed)
    definition = read_study(Path(lifecycle.__file__).with_name("field-13.toml"))
    asked = [Prompt(slug=f"list-{k}", kind="recommendation", items=NAMED) for k in range(world.lists)]
    asked += [Prompt(slug=f"choice-{k}", kind="choice", choices=list("wxyz"), answer="B") for k in range(world.choices)]
    popular = -world.slope * np.log(np.arange(1, ITEMS + 1))
    item = int(rng.integers(0, 8)) if world.slope else int(rng.integers(0, ITEMS))

    def answers(count: int, of_field: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        tables, rows, codes, before = [], [], [], 0
        for place, prompt in enumerate(asked):
            option = np.full(count, -1, dtype=np.int8)
            silent = rng.random(count) < SILENT
            if prompt.kind == "choice":
                option = np.where(rng.random(count) < RIGHT, 1, rng.choice([0, 2, 3], count)).astype(np.int8)
                option[silent] = -1
            else:
                drawn = draw_items(rng, count, world, popular)
                if of_field and place == 0 and world.planted:
                    plant(rng, drawn, item, world.planted, popular)
                said = np.sort(drawn[~silent], axis=1)
                rows.append(np.repeat(np.flatnonzero(~silent), NAMED) + before)
                codes.append(said.ravel())
            tables.append(pd.DataFrame({"at": np.arange(count), "prompt": prompt.slug, "option": option}))
            before += count
        return pd.concat(tables, ignore_index=True), np.concatenate(rows), np.concatenate(codes)

    def frame(table: pd.DataFrame, rows: np.ndarray, codes: np.ndarray) -> Frame:
        table["id"] = np.arange(1, len(table) + 1)
        table["prompt"] = pd.Categorical(table["prompt"], categories=sorted(prompt.slug for prompt in asked))
        return Frame(table, rows, codes)

    bots = list(BOTS)[: 1 if world.mix == 1.0 else 2]
    first = round(world.people * world.mix)
    people = pd.DataFrame(
        {"chatbot": np.where(np.arange(world.people) < first, bots[0], bots[-1])},
        index=pd.Index(np.arange(1, world.people + 1), name="id"),
    )
    people["cell"] = [definition.cells[k % len(definition.cells)].slug for k in range(world.people)]
    constant = {"origin": "prolific", "pilot": False, "state": "completed"}
    constant |= dict.fromkeys(("memory", "personalisation", "plan", "model_shown", "device"), "")
    people = people.assign(**constant, version=1, answers=[{} for _ in people.index], order=[[] for _ in people.index])
    table, rows, codes = answers(world.people, True)
    table = table.assign(unit=table["at"] + 1, user=0, repeat=1, flagged=False, language="en", excluded=False)
    table = table.assign(unreached=False, rating=np.nan)
    table["flags"] = [() for _ in table.index]
    field = frame(table, rows, codes)

    tables, all_rows, all_codes, runs, before = [], [], [], {}, 0
    for bot in bots:
        endpoint = Endpoint(name=BOTS[bot], model=BOTS[bot], provider="openai")
        for condition in SOURCES[: world.sources]:
            pk = len(runs) + 1
            size = 100 if condition in ("sp-history", "sp-rag") else None
            runs[pk] = Run(pk=pk, condition=condition, endpoint=endpoint, temperature=1.0, history_size=size)
            table, rows, codes = answers(world.calls, False)
            users = 0 if condition == "offline" else world.users or world.calls
            user = table["at"] % users + 1 if users else 0 * table["at"]
            whose = np.where(user > 0, pk * 100_000 + user, OWN)
            tables.append(table.assign(unit=pk, user=user, repeat=table["at"], respondent=whose))
            all_rows.append(rows + before)
            all_codes.append(codes)
            before += len(table)
    calls = frame(pd.concat(tables, ignore_index=True), np.concatenate(all_rows), np.concatenate(all_codes))
    names = [f"item {k:02d}" for k in range(ITEMS)]
    frames = Frames(
        prompts={prompt.slug: prompt for prompt in asked}, askings={},
        drawn={},
        people=people, field=field, runs=runs, calls=calls, families={},
        vocabularies={prompt.slug: names for prompt in asked if prompt.kind != "choice"},
        names={}, unread=0, reworded=0,
    )  # fmt: skip
    return Data(Study(slug="null"), definition, frames, Filters(), seed, draws), names[item]


def report_of(data: Any, parts: Sequence[str] = PARTS) -> dict[str, Any]:
    """Compute the parts that claims are about, as in a report, with their claims and families."""
    from analysis.report.claims.gate import claims_of
    from analysis.report.parts import PARTS as ALL
    from analysis.report.reports import tidy

    report: dict[str, Any] = {"filters": {"query": ""}, "chatbots": {bot: bot for bot in BOTS}}
    report |= {name: tidy(ALL[name].compute(data)) for name in parts}
    report["claims"], report["families"] = claims_of(report)
    return report


def worlds() -> list[World]:
    sizes = ((400, 400), (400, 50), (50, 50))
    found = [World(*size, sources=sources) for size in sizes for sources in (1, 4)]
    found += [World(*size, sources=1, choices=4, mix=0.5) for size in sizes]
    found += [World(400, 400, sources=4, choices=4, slope=0.0, mix=0.9), World(400, 50, 2, choices=4, slope=0.0)]
    found += [World(50, 200, 4, choices=4, mix=0.5, users=25)]
    return found + [World(planted=0.15), World(planted=0.15, slope=0.0), World(sources=4, choices=4, planted=0.15)]


def measure(
    world: World, studies: int, draws: int, seed: int = 0, parts: Sequence[str] = PARTS, seconds: float = inf
) -> dict[str, Any]:
    """Count, in `studies` or as many as `seconds` allow, those with claims, by page, and planted items named first."""
    pages, named, wrong, began = Counter[str](), 0, 0, time.monotonic()
    kinds = Counter[str]()
    for number in range(studies):
        if time.monotonic() - began > seconds:
            studies = number
            break
        data, item = make_data(world, seed + number, draws)
        claims = report_of(data, parts)["claims"]
        pages.update({claim["page"] for claim in claims})
        kinds.update({claim["kind"] for claim in claims if claim["page"] == "overview"})
        shares = [claim for claim in claims if claim["page"] == "overview" and claim["measure"] == "item_share"]
        hit = [claim for claim in shares if (claim["prompt"], claim["item"]) == ("list-0", item)]
        named += bool(hit) and shares[0] in hit
        wrong += bool(shares) and not hit
    spent = (time.monotonic() - began) / studies
    return {"world": str(world), "studies": studies, "claims": dict(pages), "kinds": dict(kinds)} | {
        "named": named,
        "wrong": wrong,
        "seconds": round(spent, 2),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=inf, help="for each world, which then has fewer studies")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only claims of these")
    parser.add_argument("--worlds", type=int, nargs="*", help="only these, by number from 0")
    options = parser.parse_args(arguments)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "fieldstudy.settings", "DEBUG": "true"}
    django.setup()
    for number, world in enumerate(worlds()):
        if options.worlds is None or number in options.worlds:
            found = measure(world, options.studies, options.draws, options.seed, options.parts, options.seconds)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
