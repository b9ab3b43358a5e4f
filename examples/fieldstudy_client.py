"""Reads a study from Field Study's API or from a replication bundle, and computes its figures 1 to 3.

One file to put beside a notebook; it needs Python 3.11 with pandas.

    study = from_api("https://field.example.org", "my-study", token)
    study = from_bundle("my-study-bundle.zip")
    study = open_study()  # whichever of the two the environment names

`study.table("mentions")` is any table of the codebook, `study.report` is the report, and `figure1(study)` to
`figure3(study)` return the figures' numbers, computed here from the tables; figure 1 adds the report's intervals.
"""

import io
import json
import math
import os
import re
import time
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pandas as pd

Row = dict[str, Any]
MEASURES = {
    "unique": "Distinct items",
    "outside_top5": "Outside the five most frequent",
    "entropy_bits": "Entropy (bits)",
}
NUMBERS = (
    *("run", "user", "repeat", "place", "items", "options"),
    *("temperature", "history_size", "memory_size", "rules_version"),
)
# Columns that distinguish the sources of a benchmark.
SETTINGS = (
    *("source", "model", "temperature", "history_size", "memory_size", "per_user", "corpus", "personas", "imported"),
    "settings",
)
HALF_A_NINTH_DIGIT = 5.1e-9  # of a number, at most
# CSV files put an apostrophe in front of what a spreadsheet would run.
GUARDED = r"^'('*[=+\-@\t\r])"


class Study:
    """A study; `read` returns the content of `report.json` or of `data/<table>.csv`."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self.read = read
        self._tables: dict[str, pd.DataFrame] = {}

    @cached_property
    def report(self) -> Row:
        """Every number that the pages show, with its interval."""
        return json.loads(self.read("report.json"))

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the codebook; columns are texts, numbers or truth values."""
        if name not in self._tables:
            content = io.BytesIO(self.read(f"data/{name}.csv"))
            self._tables[name] = typed(pd.read_csv(content, dtype=str, keep_default_na=False))
        return self._tables[name]

    def titles(self) -> dict[str, str]:
        """Return the prompts' titles, as pages show them, by slug."""
        return {prompt["slug"]: prompt["title"] for prompt in self.report["prompts"]}


def typed(table: pd.DataFrame) -> pd.DataFrame:
    for name in table.columns:
        column = table[name]
        if name in NUMBERS and column.str.fullmatch(r"[\d.e+-]*").all():
            table[name] = pd.to_numeric(column)
        elif len(column) and column.isin(["true", "false"]).all():
            table[name] = column == "true"
        else:
            table[name] = column.str.replace(GUARDED, r"\1", regex=True)
    return table


# --- from where ----------------------------------------------------------------


def from_bundle(path: str) -> Study:
    """Open a study from its replication bundle, a zip file."""
    archive = zipfile.ZipFile(path)
    return Study(archive.read)


def from_api(site: str, study: str, token: str) -> Study:
    """Open a study on a running platform; `token` is on your Export page. Raises urllib's HTTPError if refused."""
    place = f"{site.rstrip('/')}/api/v1/studies/{study}"

    def read(name: str) -> bytes:
        table = re.fullmatch(r"data/(\w+)\.csv", name)
        address = f"{place}/export/{table[1]}.csv" if table else f"{place}/metrics/"
        asked = urllib.request.Request(address, headers={"Authorization": f"Token {token}"})
        while True:
            with urllib.request.urlopen(asked) as answer:
                if answer.status != 202:  # 202: a worker is still computing it
                    return answer.read()
                time.sleep(int(answer.headers["Retry-After"]))

    return Study(read)


def open_study() -> Study:
    """Open the bundle FIELDSTUDY_BUNDLE, or the study of FIELDSTUDY_SITE, FIELDSTUDY_STUDY and FIELDSTUDY_TOKEN."""
    if path := os.environ.get("FIELDSTUDY_BUNDLE"):
        return from_bundle(path)
    site, study, token = (os.environ.get(f"FIELDSTUDY_{name}", "") for name in ("SITE", "STUDY", "TOKEN"))
    if not (site and study and token):
        raise SystemExit("Set FIELDSTUDY_BUNDLE, or FIELDSTUDY_SITE, FIELDSTUDY_STUDY and FIELDSTUDY_TOKEN.")
    return from_api(site, study, token)


# --- whose answers --------------------------------------------------------------


def answers_of(study: Study, name: str, row: Row) -> pd.DataFrame:
    """Return the rows of `readings` or `mentions` behind a row of the report: those of one prompt, source and model.

    If a source's runs with one model differ in their settings, only those that the report marks as `main`.
    """
    table = study.table(name)
    table = table[table["counted"] & (table["prompt"] == row["prompt"])]
    if row["source"] == "field":
        return table[(table["source"] == "field") & ((table["model"] == row["model"]) | (row["model"] == "all"))]
    shown = [source for source in study.report["sources"] if source["main"]]
    runs = {run for source in shown if same(source, row, "source", "model") for run in source["runs"]}
    return table[table["run"].isin(runs)]


def same(one: Row, other: Row, *names: str) -> bool:
    return all(one[name] == other[name] for name in names)


# --- figure 1: how varied recommendations are -------------------------------------


def measure(counts: Counter[str]) -> dict[str, float | None]:
    """Compute the measures from how often each item is named."""
    total = counts.total()
    shares = sorted((count / total for count in counts.values()), reverse=True)
    if not total:
        return {"unique": 0, "outside_top5": None, "entropy_bits": None}
    entropy = abs(-math.fsum(share * math.log2(share) for share in shares))
    return {"unique": len(counts), "outside_top5": 1 - math.fsum(shares[:5]), "entropy_bits": entropy}


def figure1(study: Study) -> pd.DataFrame:
    """Return a row for each prompt, source, model and measure.

    `value` with `low` and `high` is of all answers; `equal`, `equal_low` and `equal_high` are the report's at
    one size, `equal_n` units: those of the smaller of source and field or, without people, of the smallest source.
    """
    return pd.DataFrame(rows_of_lists(study))


def rows_of_lists(study: Study) -> Iterator[Row]:
    titles = study.titles()
    for row in study.report["heterogeneity"]:
        found = measure(Counter(answers_of(study, "mentions", row)["item"]))
        for name, value in found.items():
            low, high = ends(row["ci"], name)
            equal_low, equal_high = ends(row["rarefied"].get("ci"), name)
            yield {
                **{key: row[key] for key in ("prompt", "source", "model", "chatbot", "unit", "units")},
                **{"title": titles[row["prompt"]], "n": len(answers_of(study, "readings", row))},
                **{"measure": name, "label": MEASURES[name], "value": value, "low": low, "high": high},
                **{"equal_n": row["rarefied"]["n"], "equal": reported(row["rarefied"], name)},
                **{"equal_low": equal_low, "equal_high": equal_high},
            }


def reported(row: Row, name: str) -> float | None:
    """Return the report's value; `outside_top5` is 1 minus its share of the five most frequent items."""
    if name != "outside_top5":
        return row[name]
    return None if row["top5_coverage"] is None else 1 - row["top5_coverage"]


def ends(intervals: Row | None, name: str) -> tuple[float | None, float | None]:
    found = (intervals or {}).get("top5_coverage" if name == "outside_top5" else name)
    if found is None:
        return None, None
    return (1 - found[1], 1 - found[0]) if name == "outside_top5" else (found[0], found[1])


# --- figure 2: which letters are chosen --------------------------------------------


def figure2(study: Study) -> pd.DataFrame:
    """Return a row for each prompt, source, model and letter (or `unknown`): how many answers name it."""
    return pd.DataFrame(rows_of_letters(study))


def rows_of_letters(study: Study) -> Iterator[Row]:
    titles = study.titles()
    for row in study.report["choices"]:
        letters = Counter(answers_of(study, "readings", row)["letter"].replace("", "unknown"))
        for letter in row["counts"]:
            yield {
                **{key: row[key] for key in ("prompt", "source", "model", "chatbot", "unit", "units")},
                **{"title": titles[row["prompt"]], "letter": letter, "n": letters.total()},
                **{"count": letters[letter], "share": letters[letter] / letters.total() if letters else None},
                "correct": letter == row.get("correct"),
            }


# --- figure 3: how benchmark scores vary ---------------------------------------------


def figure3(study: Study) -> pd.DataFrame:
    """Return a row for each whole run of a benchmark (one repeat of one simulated user): its share of right answers.

    A call that failed for good counts as a wrong answer; runs that still lack answers are left out.
    """
    return pd.DataFrame(rows_of_runs(study))


def rows_of_runs(study: Study) -> Iterator[Row]:
    calls = study.table("completions").rename(columns={"item": "benchmark_item"})
    keys = ["run", "user", "repeat", "benchmark_item"]
    read = study.table("readings")
    read = read[read["benchmark"] != ""][[*keys, "correct"]].astype({"correct": str})
    calls = calls[calls["benchmark_item"] != ""].merge(read, on=keys, how="left")
    calls = calls[(calls["status"] == "failed") | calls["correct"].notna()]
    calls = calls.assign(user=calls["user"].fillna(-1), right=calls["correct"].str.lower() == "true")
    for row in study.report["benchmarks"]:
        of_row = calls[calls["run"].isin(runs_of(study, row))]
        wide = of_row.pivot_table("right", ["run", "user", "repeat"], "benchmark_item", aggfunc="first").dropna()
        for (run, user, repeat), right in wide.astype(float).mean(axis=1).items():
            yield {
                **{key: row[key] for key in ("benchmark", *SETTINGS)},
                **{"run": int(run), "user": None if user < 0 else int(user), "repeat": int(repeat), "accuracy": right},
            }


def runs_of(study: Study, row: Row) -> list[int]:
    runs = study.table("runs")
    runs = runs[runs["benchmark"] == row["benchmark"]]
    for name in SETTINGS:
        runs = runs[runs[name].isna() if row[name] is None else runs[name] == row[name]]
    return list(runs["run"])


# --- whether these are the report's numbers ---------------------------------------------


def differences(study: Study) -> list[str]:
    """List numbers that differ from the report's nine digits: none, unless tables and report are of different days."""
    found = []
    lists = {(row["prompt"], row["source"], row["model"]): row for row in study.report["heterogeneity"]}
    for row in rows_of_lists(study):
        told = lists[row["prompt"], row["source"], row["model"]]
        pairs = ((row["measure"], row["value"], reported(told, row["measure"])), ("n", row["n"], told["n"]))
        found += [f"{row['prompt']}, {row['source']}, {row['model']}: {p[0]}" for p in pairs if differs(*p[1:])]
    choices = {(row["prompt"], row["source"], row["model"]): row for row in study.report["choices"]}
    for row in rows_of_letters(study):
        told = choices[row["prompt"], row["source"], row["model"]]
        if row["count"] != told["counts"][row["letter"]]:
            found.append(f"{row['prompt']}, {row['source']}, {row['model']}: {row['letter']}")
    scored: dict[tuple, list[float]] = {}
    for row in rows_of_runs(study):
        scored.setdefault(tuple(row[name] for name in ("benchmark", *SETTINGS)), []).append(row["accuracy"])
    for row in study.report["benchmarks"]:
        mine = sorted(scored.get(tuple(row[name] for name in ("benchmark", *SETTINGS)), []))
        told = sorted(run["accuracy"] for run in row["runs"])
        if len(mine) != len(told) or any(map(differs, mine, told)):
            found.append(f"{row['benchmark']}, {row['source']}, {row['model']}: accuracy")
    return found


def differs(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return not math.isclose(one, other, rel_tol=HALF_A_NINTH_DIGIT, abs_tol=HALF_A_NINTH_DIGIT / 5)
