"""The bundle's tables in memory, and the measures that recompute.py computes from them."""

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Ends, read_table, t_quantile

Row = dict[str, Any]
LETTERS = "ABCDEFGH"
DRAWS = 1000
SETTINGS = (
    *("source", "model", "temperature", "history_size", "memory_size", "per_user", "corpus", "personas", "imported"),
    "settings",
)
MEASURES = ("unique", "top5_coverage", "entropy_bits")
FEWEST_UNITS = 5  # for intervals other than a share's
ALIKE = 1e-12  # the most error of units that are all alike
Z = NormalDist().inv_cdf(0.975)


class Bundle:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report: Row = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        self.answers = self.read("answers")
        self.completions, self.runs = self.read("completions"), self.read("runs")
        self.prompts = self.read("prompts").set_index("prompt").to_dict("index")
        self.keys = self.read("benchmark_items").set_index(["benchmark", "item"])["answer"].to_dict()
        self.aliases = self.read_aliases()
        self.askings = self.read("askings")
        for table, unit in ((self.answers, "participant"), (self.askings, "participant"), (self.completions, "run")):
            table["named"] = [self.items_of(*pair) for pair in zip(table["prompt"], table["items"], strict=True)]
            table["unit"] = table[unit]
        for table in (self.answers, self.askings):
            table["respondent"] = table["participant"]
        self.completions["respondent"] = self.respondents()
        self.rng = np.random.default_rng(0)

    def read(self, name: str) -> pd.DataFrame:
        """Read a table with the columns below as numbers or truth values, all others as text, empty cells included."""
        table = read_table(self.folder, name)
        for column in table.columns.intersection(NUMBERS):
            table[column] = pd.to_numeric(table[column])
        for column in table.columns.intersection(TRUTHS):
            table[column] = table[column] == "true"
        return table

    def told(self, table: pd.DataFrame, column: str) -> pd.Series:
        """A column about the person behind each answer, from whichever table has it."""
        if column in table:
            return table[column]
        people = next(people for name in ("context", "participants") if column in (people := self.read(name)))
        return table["participant"].map(people.set_index("participant")[column])

    def first_time(self, table: pd.DataFrame) -> pd.DataFrame:
        """Keep first askings in the usual state, of prompts in this bundle."""
        kept = table["prompt"].isin(self.prompts)
        return table[kept & (table["occasion"] == 1) & (table["arm"] == "")] if "occasion" in table else table[kept]

    def read_aliases(self) -> dict[tuple[str, str], str]:
        """Items by family of prompts and spelling; if an original and its variant differ, the original decides."""
        rows = self.read("aliases").to_dict("records")
        rows.sort(key=lambda row: self.family(row["prompt"]) == row["prompt"])
        return {(self.family(row["prompt"]), row["spelling"]): row["item"] for row in rows}

    def respondents(self) -> list[str]:
        """Each completion's respondent: its simulated user, whom runs with one seed and recipe share, or itself."""
        runs = self.runs.set_index("run")[["source", "seed"]].to_dict("index")
        columns = (self.completions[name] for name in ("run", "user", "user_name", "recipe"))
        found = []
        for number, (run, user, name, recipe) in enumerate(zip(*columns, strict=True)):
            who = name or f"{runs[run]['seed']} {user:.0f} {recipe}"
            found.append(f"{runs[run]['source']} {who}" if name or recipe else f"call {number}")
        return found

    def family(self, prompt: str) -> str:
        known = self.prompts.get(prompt)
        return known["variant_of"] or prompt if known else prompt

    def items_of(self, prompt: str, written: str) -> list[str]:
        family = self.family(prompt)
        return sorted({self.aliases.get((family, item), item) for item in json.loads(written or "[]")})

    # --- whose answers

    def field(
        self, model: str, prompt: str, excluded: str = "without", flagged: str = "with", people: str = "completed"
    ) -> pd.DataFrame:
        return self.counted(self.answers, model, prompt, excluded, flagged, people)

    def again(self, model: str, prompt: str, arm: str = "") -> pd.DataFrame:
        """Answers of people asked again in this state who could reach it, in the order of occasions."""
        table = self.askings[(self.askings["arm"] == arm) & ~self.askings["unreached"]]
        return self.counted(table, model, prompt).sort_values("occasion", kind="stable")

    def counted(
        self,
        table: pd.DataFrame,
        model: str,
        prompt: str,
        excluded: str = "without",
        flagged: str = "with",
        people: str = "completed",
    ) -> pd.DataFrame:
        mask = (table["prompt"] == prompt) & table["rules_version"].notna()
        # Only answers to other options than today's are neither counted nor excluded.
        mask &= table["counted"] | (table["excluded"] & (excluded == "with"))
        mask &= (table["state"] == "completed") | (people == "all")
        if flagged not in ("with", "without"):  # the name of one check
            mask &= ~table["flags"].str.split(",").map(lambda names: flagged in names)
        mask &= ~table["flagged"] | (flagged != "without")
        return table[mask & ((table["chatbot"] == model) | (model == "all"))]

    def calls(self, runs: list[int], prompt: str) -> pd.DataFrame:
        table = self.completions
        done = (table["status"] == "done") & table["rules_version"].notna()
        return table[table["run"].isin(runs) & (table["prompt"] == prompt) & done]

    def rows(self, row: Row, prompt: str) -> pd.DataFrame:
        """The answers that a row of the report counts."""
        if row["source"] == "field":
            return self.field(row["model"], prompt)
        return self.calls(self.runs_of(row), prompt)

    def as_read(self, prompt: str) -> pd.DataFrame:
        """Everybody's answers to a prompt, with `named` and `letter` as the rules read them where people saw that."""
        table = self.answers[(self.answers["prompt"] == prompt) & self.answers["rules_version"].notna()]
        shown, names = (self.first_time(self.read(name)) for name in ("read_backs", "read_back_names"))
        letters = shown[shown["newest"] & (shown["prompt"] == prompt)].set_index("participant")["read_letter"]
        names = names[names["newest"] & names["read"] & (names["prompt"] == prompt) & (names["item"] != "")]
        items = names.groupby("participant")["item"].agg(list).to_dict()
        asked = table["participant"].isin(letters.index) & ~table["decided"]
        written = {who: json.dumps(items.get(who, [])) for who in letters.index}
        read = {who: self.items_of(prompt, found) for who, found in written.items()}
        cells = table["participant"], asked, table["named"]
        named = [read[who] if was else own for who, was, own in zip(*cells, strict=True)]
        letter = table["letter"].where(~asked, table["participant"].map(letters))
        return table.assign(named=named, letter=letter)

    def runs_of(self, row: Row) -> list[int]:
        """The runs of a row's source with all its settings; for a row without settings, its main runs."""
        for source in self.report["sources"]:
            names = SETTINGS if "history_size" in row else SETTINGS[:2]
            same = all(source[name] == row[name] for name in names)
            if same and (source["main"] or "history_size" in row):
                return list(source["runs"])
        return []


NUMBERS = ("version", "rules_version", "run", "user", "repeat", "prompt_tokens", "cached_tokens", "completion_tokens",
           "latency_ms", "usd", "temperature", "history_size", "memory_size", "options", "first_run", "people",
           "names_read", "taken_out", "occasion", "rating", "added", "absent")  # fmt: skip
TRUTHS = ("flagged", "excluded", "counted", "imported", "simulated", "per_user", "pilot", "decided", "newest", "read",
          "unreached")  # fmt: skip


# --- measures ----------------------------------------------------------------


def incidence(table: pd.DataFrame, vocabulary: list[str]) -> np.ndarray:
    """A matrix of 0 and 1: which response (row) names which item (column)."""
    place = {item: number for number, item in enumerate(vocabulary)}
    matrix = np.zeros((len(table), len(vocabulary)))
    for row, named in enumerate(table["named"]):
        matrix[row, [place[item] for item in named if item in place]] = 1
    return matrix


def vocabulary_of(*tables: pd.DataFrame) -> list[str]:
    return sorted({item for table in tables for named in table["named"] for item in named})


def measure(counts: np.ndarray) -> dict[str, np.ndarray]:
    """The three measures of counts with the shape (..., items)."""
    shares = shares_of(counts)
    logs = np.log2(np.where(shares > 0, shares, 1.0))
    return {
        "unique": (counts > 0).sum(axis=-1).astype(float),
        "top5_coverage": np.sort(shares, axis=-1)[..., -5:].sum(axis=-1),
        "entropy_bits": np.abs((shares * logs).sum(axis=-1)),
    }


def shares_of(counts: np.ndarray) -> np.ndarray:
    """Shares of counts; NaN if nothing is named."""
    total = counts.sum(axis=-1, keepdims=True)
    return counts / np.where(total > 0, total, np.nan)


def distance(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Jensen-Shannon divergence in bits, and total variation, of item counts."""
    p, q = shares_of(a), shares_of(b)
    mixed, one, other = (measure(part)["entropy_bits"] for part in ((p + q) / 2, p, q))
    return mixed - (one + other) / 2, np.abs(p - q).sum(axis=-1) / 2


def by_unit(table: pd.DataFrame, matrix: np.ndarray) -> np.ndarray:
    """Sum the rows of each unit: one person's, one simulated user's or one call's."""
    number, names = pd.factorize(table["respondent"])
    found = np.zeros((len(names), matrix.shape[1]))
    np.add.at(found, number, matrix)
    return found


def redraw(units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Item counts of units drawn with replacement, DRAWS times."""
    n = len(units)
    return rng.multinomial(n, np.full(n, 1 / n), size=DRAWS) @ units


def drawn_interval(drawn: np.ndarray, value: float, units: int) -> Ends:
    """The interval from draws of units, centred on the value and widened for few of them."""
    ends = np.nanpercentile(drawn, [2.5, 97.5]) - np.nanmean(drawn)
    if units < FEWEST_UNITS or ends[1] - ends[0] < 1e-12:
        return None
    factor = math.sqrt(units / (units - 1)) * t_quantile(units - 1) / Z
    return max(value + factor * ends[0], 0.0), min(value + factor * ends[1], 1.0)


def ends_of(value: float, error: float, freedom: float, units: int, least: float, most: float) -> Ends:
    """The interval by Student's t, within the value's possible range; None for few units, or if all are alike."""
    if units < FEWEST_UNITS or math.isnan(error) or error <= ALIKE:
        return None
    half = t_quantile(freedom) * error
    return max(value - half, min(least, value)), min(value + half, max(most, value))


def error_interval(name: str, units: np.ndarray) -> Ends:
    """The interval of a measure of item counts, leaving out each unit in turn."""
    m, total = len(units), units.sum(axis=0)
    if m < FEWEST_UNITS or not total.any():
        return None
    value, left_out = float(measure(total)[name]), measure(total - units)[name]
    error = math.sqrt((m - 1) * left_out.var()) if not np.isnan(left_out).any() else 0.0
    if name == "unique":  # items named by two units tell how much scatter of those named by one is chance
        named = (units > 0).sum(axis=0)
        added, once, twice = ((units > 0) & (named == 1)).sum(axis=1), (named == 1).sum(), (named == 2).sum()
        error = math.sqrt(m * added.var(ddof=1) * once / (once + twice)) if once else 0.0
    return ends_of(value, error, m - 1, m, 0.0, 1.0 if name == "top5_coverage" else math.inf)


def share_interval(hits: np.ndarray, sizes: np.ndarray) -> list[Ends]:
    """Wilson intervals of shares (rows of `hits`, by unit in columns), at the number of independent cases."""
    m, n = len(sizes), float(sizes.sum())
    if m < 2:
        return [None] * len(hits)
    p = hits.sum(axis=1) / n
    cases = np.full(len(p), n)
    if n > m:
        shares = hits / sizes
        between = (sizes * (shares - p[:, None]) ** 2).sum() / (m - 1)
        within = (sizes * shares * (1 - shares)).sum() / (n - m)
        usual = (n - (sizes**2).sum() / n) / (m - 1)
        total = between + (usual - 1) * within
        alike = min(max((between - within) / total, 0.0), 1.0) if total > 0 else 0.0
        scatter = m / (m - 1) * ((hits - p[:, None] * sizes) ** 2).sum(axis=1) / n**2 + 2 * alike * p * (1 - p) / m**2
        for k in range(len(p)):
            known = n if scatter[k] == 0 else min(n, p[k] * (1 - p[k]) / scatter[k])
            cases[k] = (m if p[k] in (0.0, 1.0) else known) * (Z / t_quantile(m - 1)) ** 2
    return [wilson_interval(share, number) for share, number in zip(p, cases, strict=True)]


def wilson_interval(p: float, n: float) -> tuple[float, float]:
    """The 95 % score interval of a share (Wilson 1927)."""
    centre, half = p + Z * Z / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return (centre - half) / (1 + Z * Z / n), (centre + half) / (1 + Z * Z / n)


def place(row: Row, *names: str) -> str:
    return ", ".join(str(row[name]) for name in names if row.get(name) not in (None, ""))


# --- of one row of the report


def item_intervals(table: pd.DataFrame, matrix: np.ndarray) -> list[Ends]:
    sizes = by_unit(table, np.ones((len(table), 1)))[:, 0]
    return share_interval(by_unit(table, matrix).T, sizes)


def divergence(one: pd.DataFrame, other: pd.DataFrame) -> float | None:
    vocabulary = vocabulary_of(one, other)
    a, b = (incidence(table, vocabulary).sum(axis=0) for table in (one, other))
    return float(distance(a, b)[0]) if a.any() and b.any() else None


def setting_key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in SETTINGS)


def run_letters(bundle: Bundle, row: Row) -> pd.DataFrame:
    """A row for each complete benchmark run, a column for each question, a letter or nothing in each cell."""
    runs = bundle.runs[bundle.runs["benchmark"] == row["benchmark"]]
    for name in SETTINGS:
        same = runs[name].isna() if row[name] is None else runs[name] == row[name]
        runs = runs[same]
    calls = bundle.completions[bundle.completions["run"].isin(runs["run"])]
    calls = calls[(calls["status"] == "failed") | calls["rules_version"].notna()]
    keys = calls.assign(user=calls["user"].fillna(-1))
    return keys.pivot_table("letter", ["run", "user", "repeat"], "item", aggfunc="first").dropna()


def spread(accuracy: np.ndarray) -> dict[str, float | None]:
    if not len(accuracy):
        return dict.fromkeys(("min", "max", "mean", "sd", "range"))
    several = len(accuracy) > 1
    return {
        "min": float(accuracy.min()),
        "max": float(accuracy.max()),
        "mean": float(accuracy.mean()),
        "sd": float(accuracy.std(ddof=1)) if several else None,
        "range": float(np.ptp(accuracy)) if several else None,
    }


def spread_of_letters(wide: pd.DataFrame) -> dict[str, float | None]:
    if len(wide) < 2 or not len(wide.columns):
        return {"unanimous": None, "distinct_letters": None}
    given = [set(wide[item]) for item in wide.columns]
    return {
        "unanimous": float(np.mean([len(letters) == 1 and "" not in letters for letters in given])),
        "distinct_letters": float(np.mean([len(letters - {""}) for letters in given])),
    }


def novel_split(wide: pd.DataFrame, offline: pd.DataFrame, runs: int, bundle: Bundle) -> tuple[float, float]:
    """The novel share of offline runs held out at random, and of one run each of as many simulated users."""
    order = bundle.rng.permutation(len(offline))
    reference = offline.iloc[order[runs:]]
    calls = bundle.completions.assign(user=bundle.completions["user"].fillna(-1))
    whose = calls.drop_duplicates(["run", "user"]).set_index(["run", "user"])["respondent"]
    users: dict[Any, list[int]] = {}
    for row, call in enumerate(wide.index):
        name = whose[call[:2]]
        users.setdefault(call if name.startswith("call ") else name, []).append(row)
    chosen = bundle.rng.choice(len(users), runs, replace=False)
    puppets = [bundle.rng.choice(list(users.values())[user]) for user in chosen]
    return novel_share(offline.iloc[order[:runs]], reference), novel_share(wide.iloc[puppets], reference)


def novel_share(wide: pd.DataFrame, offline: pd.DataFrame) -> float:
    shared = wide.columns.intersection(offline.columns)
    new = [set(wide[item]) - set(offline[item]) - {""} for item in shared]
    return sum(bool(letters) for letters in new) / len(shared)


def letter_counts(bundle: Bundle, table: pd.DataFrame, prompt: str) -> dict[str, int]:
    letters = LETTERS[: int(bundle.prompts[prompt]["options"])]
    found = {letter: int((table["letter"] == letter).sum()) for letter in letters}
    return found | {"unknown": len(table) - sum(found.values())}
