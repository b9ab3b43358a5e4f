"""Tables 1 to 7 and figures 2 to 7 of "Re-Centering Humans in LLM Personalization", from studies that repeat it."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.agreement.agreements import rows_for
from analysis.agreement.figures import draw_figure
from analysis.agreement.follow_ups.tables import make_categories, make_reasonings
from analysis.agreement.kind_tables import compare_published, make_ratings
from analysis.agreement.tables import estimate, make_table
from analysis.charts.figure import Figure, Options
from analysis.charts.tables import COUNT, FINE, SHARE, Column, Table
from analysis.models import Attribute, Corpus, CorpusStep
from analysis.people.stages.relevant import SUREST, without_details
from analysis.stats.agreement.agreement import Row, write_estimates
from analysis.stats.detection import Cases, Scored, measure_scores
from surveys.models import Study
from surveys.studies.files.kinds import QUALITY, RELEVANCE, LabelQuestion
from surveys.studies.labels import iter_labels
from surveys.studies.lifecycle import annotation_of, definition_of
from surveys.studies.wording import plural

PAPER = "Re-Centering Humans in LLM Personalization"
PUBLISHED: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("published.toml").read_text())
STAGES = {"attribute": "stage 1", "relevance": "stage 2", "preference": "stage 3"}
TOP = 5  # attributes shown per person
BANDS = 5


class Sources:
    """The study of each stage, and the corpora; measures a study once for all its exhibits."""

    def __init__(self, studies: Sequence[Study], corpora: Sequence[Corpus]) -> None:
        kinds = [(work_kind(study), study) for study in studies]
        self.studies = {kind: study for kind, study in reversed(kinds) if kind in STAGES}
        self.corpora = list(corpora)
        self.found: dict[str, Row] = {}

    def question(self, kind: str) -> Row | None:
        """Return the first question of the stage's study; None without a study or a label."""
        study = self.studies.get(kind)
        if study is None:
            return None
        if kind not in self.found:
            self.found[kind] = rows_for(study)["questions"][0]
        return self.found[kind] if self.found[kind]["labels"] else None

    def simulated(self) -> list[str]:
        """List the made-up raters of all stages."""
        return sorted({name for study in self.studies.values() for name in rows_for(study)["simulated"]})


def work_kind(study: Study) -> str:
    work = annotation_of(study)
    return work.kind if work else ""


@dataclass(frozen=True)
class Exhibit:
    """A figure or table under the paper's number. `why`: why it could not be made."""

    number: str
    title: str
    tables: list[Table] = field(default_factory=list)
    note: str = ""
    figure: Figure | None = None
    study: str = ""  # its source
    why: str = ""

    @property
    def name(self) -> str:
        return self.number.lower().replace(" ", "-")


Made = dict[str, Any]  # an exhibit's tables, note and figure


class Recipe(NamedTuple):
    """How to make an exhibit: from the study of this `kind`, or from the corpora if that is empty."""

    number: str
    title: str
    kind: str
    make: Callable[[Sources, Row, Study], Made | None]
    needs: str  # what is missing if it cannot be made
    in_full: str = ""  # the title once it is made


def exhibits(sources: Sources) -> Iterator[Exhibit]:
    for recipe in RECIPES:
        yield make_exhibit(recipe, sources)


def make_exhibit(recipe: Recipe, sources: Sources) -> Exhibit:
    empty, study, question = Exhibit(recipe.number, recipe.title), Study(), Row()
    if recipe.kind:
        if recipe.kind not in sources.studies:
            return replace(empty, why=f"No study of {STAGES[recipe.kind]} (annotators of the kind {recipe.kind}).")
        study, question = sources.studies[recipe.kind], sources.question(recipe.kind) or {}
        empty = replace(empty, study=study.slug)
        if not question:
            return replace(empty, why="Nobody has given a label yet.")
    made = recipe.make(sources, question, study)
    return replace(empty, title=recipe.in_full or recipe.title, **made) if made else replace(empty, why=recipe.needs)


# --- from corpora -----------------------------------------------------------


def table_1(sources: Sources, question: Row, study: Study) -> Made | None:
    """Tabulate the diversity of each corpus's users, of all and of each sample."""
    rows = []
    for corpus in sources.corpora:
        step = corpus.steps.filter(name=CorpusStep.Name.SAMPLE, state=CorpusStep.State.DONE).first()
        if step is None:
            continue
        for name, diversity in samples_of(step).items():
            rows.append({"corpus": f"{corpus.name}, {name}"} | {key: over_users(diversity[key]) for key in diversity})
    if not rows:
        return None
    columns = [
        Column("corpus", "Users of"),
        estimate("between_users", "Between users", FINE),
        estimate("between_centroids", "Between their means", FINE),
        estimate("within_users", "Within users", FINE),
    ]
    note = "Mean cosine distance of attributes; higher is more diverse. Intervals over users."
    return {"tables": [make_table(columns, rows)], "note": note}


def samples_of(step: CorpusStep) -> dict[str, Row]:
    """Map names to the diversity of all eligible users, of those chosen, and of every other sample."""
    report = step.report
    found = {f"all {report['eligible']:,}": report["diversity"]}
    if report["chosen"]:
        found[f"{report['chosen']:,} sampled"] = report["diversity_chosen"]
    for name, each in report.get("samples", {}).items():
        found[f"{each['chosen']:,} {each['by']} ({name})"] = each["diversity"]
    return found


def over_users(found: Row) -> Row:
    return {"value": found["value"], "ci": found["ci"], "n": found["units"], "why": found.get("ci_why", "")}


def table_4(sources: Sources, question: Row, study: Study) -> Made | None:
    """Tabulate one user per fifth of each corpus, from specialists to generalists, with their surest attributes."""
    rows = [row for corpus in sources.corpora for row in representatives(corpus)]
    if not rows:
        return None
    columns = [
        Column("corpus", "Corpus"),
        Column("band", "Fifth", COUNT),
        Column("generalist", "Distance within", FINE),
        Column("attributes", f"{TOP} surest attributes"),
    ]
    note = "The sampled user nearest to the middle of each fifth; personal details taken out. Names for them are yours."
    return {"tables": [make_table(columns, rows)], "note": note}


def representatives(corpus: Corpus) -> Iterator[Row]:
    for band in range(1, BANDS + 1):
        users = list(corpus.users.filter(band=band, place__isnull=False).order_by("generalist", "key"))
        if not users:
            continue
        user = users[len(users) // 2]
        kept = Attribute.objects.filter(user=user, cluster_size__isnull=False).order_by(SUREST, "id")
        texts = [without_details(text) for text in kept.values_list("text", flat=True)[:TOP]]
        yield {"corpus": corpus.name, "band": band, "generalist": user.generalist, "attributes": " • ".join(texts)}


# --- every model against people's majority, on items that no model among them learned from ---

MEASURES = ("accuracy", "precision", "recall", "f1")


class HeldOutItems(NamedTuple):
    """Scores on the same `items`; `is_common`: whether these are only items that no trained model learned from;
    `drawn`: users, if any item is about one, else items.
    """

    items: int
    is_common: bool
    drawn: str
    rows: list[Row]


def score_models(study: Study, question: LabelQuestion, negative: str = "") -> HeldOutItems:
    """Score judges, baselines and trained models, best F1 first, at finding the question's positive label.

    `negative`: reads a scale of three as two, with this label negative and all others positive.
    """
    people: dict[str, list[str]] = defaultdict(list)
    models: dict[str, dict[str, str]] = defaultdict(dict)
    clusters: dict[str, str] = {}
    trained, drawn = set(), "items"
    for label in iter_labels(study):
        if label.question != question.name or label.revises:
            continue
        clusters[label.unit] = label.cluster or label.item
        drawn = "users" if label.cluster else drawn
        if label.is_model:
            models[label.rater][label.unit] = label.value
            trained |= {label.rater} if label.is_trained else set()
        else:
            people[label.unit].append(label.value)
    truth = {
        unit: said for unit, values in people.items() if (said := majority(values, question, negative)) is not None
    }
    if not truth:
        return HeldOutItems(0, False, drawn, [])
    common = set(truth)
    for rater in trained:
        common &= models[rater].keys()
    rows = [score(rater, said, truth, common, clusters, question, negative) for rater, said in models.items()]
    rows.sort(key=lambda row: (-(row["f1"]["value"] or 0), row["rater"]))
    return HeldOutItems(len(common), bool(trained), drawn, rows)


def is_found(value: str, question: LabelQuestion, negative: str) -> bool:
    return value != negative if negative else value == question.positive


def majority(values: list[str], question: LabelQuestion, negative: str) -> bool | None:
    """Return whether most people's labels are positive; None for a tie."""
    counts = Counter(is_found(value, question, negative) for value in values)
    return None if counts[True] == counts[False] else counts[True] > counts[False]


def score(
    rater: str,
    said: Mapping[str, str],
    truth: Mapping[str, bool],
    common: set[str],
    clusters: Mapping[str, str],
    question: LabelQuestion,
    negative: str,
) -> Row:
    units = sorted(common & said.keys())
    names = {name: code for code, name in enumerate(dict.fromkeys(clusters[unit] for unit in units))}
    cases = Cases(
        np.array([truth[unit] for unit in units], bool),
        np.array([names[clusters[unit]] for unit in units], np.int64),
        np.arange(len(units)),
    )
    called = np.array([is_found(said[unit], question, negative) for unit in units], float)
    found = write_estimates(measure_scores(cases, Scored(called, 0.5), MEASURES)) if units else {}
    for each in found.values():
        if why := each.get("why"):  # cells have it between commas
            each["why"] = why[0].lower() + why[1:].removesuffix(".")
    none = {"value": None, "ci": None, "n": 0, "why": "it labelled none of these items"}
    return {"rater": rater, "n": len(units), "units": len(names)} | {name: found.get(name, none) for name in MEASURES}


# --- from the three stages ---------------------------------------------------

REASONED = {
    "prompt": "Prompt",
    "attribute": "Attribute",
    "people": "People",
    "before": "Before",
    "said_before": "Reasoning before",
    "after": "After",
    "said_after": "Reasoning after",
}
OF_MODELS = [
    Column("rater", "Model"),
    *(estimate(name, {"f1": "F1"}.get(name, name.capitalize()), FINE) for name in MEASURES),
    Column("n", "Items", COUNT),
]


def table_2(sources: Sources, question: Row, study: Study) -> Made | None:
    to_find = "To be found: what most people do not call supported (Maybe counts as not supported)."
    return scores_beside("verifier", score_models(study, QUALITY, "yes"), to_find)


def table_3(sources: Sources, question: Row, study: Study) -> Made | None:
    return scores_beside("relevance", score_models(study, RELEVANCE), "To be found: what most people call relevant.")


def scores_beside(published: str, found: HeldOutItems, to_find: str) -> Made | None:
    if not found.rows:
        return None
    beside = [
        {"rater": row["rater"], "n": None} | {name: {"value": row[name], "ci": None, "n": None} for name in MEASURES}
        for row in PUBLISHED[published]
    ]
    on = "that no trained model learned from, the same for all" if found.is_common else "with a majority of people"
    note = f"On {plural(found.items, 'item')} {on}; intervals over {found.drawn}. {to_find}"
    ours, theirs = make_table(OF_MODELS, found.rows, "Here"), make_table(OF_MODELS, beside, "Published")
    return {"tables": [ours, theirs], "note": note}


def table_5(sources: Sources, question: Row, study: Study) -> Made | None:
    table = make_categories(question)
    return {"tables": [table], "note": table.title} if table else None


def table_6(sources: Sources, question: Row, study: Study) -> Made | None:
    ratings = make_ratings(question)
    if ratings is None:
        return None
    return {"tables": [ratings.raters, *beside_published(study, question, "table 6")], "note": ratings.answer}


def table_7(sources: Sources, question: Row, study: Study) -> Made | None:
    """Tabulate a pair on which learning brought each reasoning model to people's label, or else its first pair."""
    rows: list[Row] = []
    for _, shown in make_reasonings(question):
        better = [row for row in shown if row["after"] == row["people"] != row["before"]]
        rows += [dict(row) for row in (better or shown)[:1]]
    if not rows:
        return None
    columns = [Column(name, label) for name, label in REASONED.items()]
    return {"tables": [make_table(columns, rows)]}


def beside_published(study: Study, question: Row, where: str) -> list[Table]:
    """Make the table of the paper's values under this number, with ours if both were measured alike."""
    work = definition_of(study.current_id).annotation
    assert work is not None
    rows = [row for row in compare_published(work, question, False) if where in row[1].text]
    heads = ("Published", "Where", "Paper", "Here")
    return [Table([Column(head, head) for head in heads], rows, "Beside the paper")] if rows else []


def draws(name: str, where: str, more: Callable[[Row], list[Table]] = lambda question: []) -> Any:
    """Return the `make` of a recipe for a figure of the agreement page; `more` adds tables."""

    def make(sources: Sources, question: Row, study: Study) -> Made | None:
        figure, told = draw_figure(name, question, Options(), sources.simulated()), more(question)
        if not figure.table and not told:
            return None
        tables = [*beside_published(study, question, where), *told]
        return {"tables": tables, "figure": figure if figure.table else None}

    return make


def gaps_by_models(question: Row) -> list[Table]:
    """Make figure 6 as tables, one for each model asked which attributes a response names."""
    rows = question["ratings"]["mentions"].get("models", ())
    columns = [Column("rater", "Rated by"), estimate("gap", "Gap", FINE)]
    return [make_table(columns, row["gaps"], f"By the word of {row['model']}") for row in rows]


def habits_by_models(question: Row) -> list[Table]:
    """Make figure 7 as tables, one for each such model: how often writers name attributes, and their gaps as judges."""
    tables = []
    for row in question["ratings"]["mentions"].get("models", ()):
        both = [
            {"generator": written["generator"], "mention_rate": written["mention_rate"], "gap": judged["gap"]}
            for written in row["generators"]
            for judged in row["gaps"]
            if written["generator"] and judged["rater"].startswith(f"{written['generator']} ")
        ]
        columns = [
            Column("generator", "Model"),
            estimate("mention_rate", "Names the attribute, as a writer", SHARE),
            estimate("gap", "Gap, as a judge", FINE),
        ]
        tables += [make_table(columns, both, f"By the word of {row['model']}")] if both else []
    return tables


def figure_2(sources: Sources, question: Row, study: Study) -> Made | None:
    named = any(row["corpus"] for row in question["by_corpus"])
    return draws("corpora", "figure 2")(sources, question, study) if named else None


def figure_4(sources: Sources, question: Row, study: Study) -> Made | None:
    kinds = {rater["kind"] == "person" for rater in question["raters"]}
    return draws("scores", "figure 4")(sources, question, study) if len(kinds) == 2 else None


MODELS = "judge, or predict with a trained model"
JUDGED = f"No model has labelled an item of which people have a majority: {MODELS}."
RECIPES = (
    Recipe("Table 1", "Diversity of users, by corpus", "", table_1, "No corpus was sampled: people CORPUS sample."),
    Recipe(
        "Figure 2",
        "Labels by corpus",
        "attribute",
        figure_2,
        "Its items name no corpus.",
        "How often attributes make sense, by corpus",
    ),
    Recipe("Table 2", "Who finds what is not supported", "attribute", table_2, JUDGED),
    Recipe(
        "Figure 3",
        "Agreement of people and models",
        "relevance",
        draws("matrix", "figure 3"),
        "Needs two raters who share items and give two labels or more.",
        "Agreement of people and models about relevance",
    ),
    Recipe(
        "Figure 4",
        "F1 of each model",
        "relevance",
        figure_4,
        f"Needs labels of a model and of two people of the same items: {MODELS}.",
        "F1 against most people, of judges and of retrieval",
    ),
    Recipe("Table 3", "Who finds what is relevant", "relevance", table_3, JUDGED),
    Recipe(
        "Figure 5",
        "Ratings by writer",
        "preference",
        draws("ratings", "figure 5"),
        "No response is rated.",
        "Ratings by the model that wrote the response",
    ),
    Recipe(
        "Figure 6",
        "What naming the attribute does",
        "preference",
        draws("mentions", "figure 6", gaps_by_models),
        "Needs ratings of responses that name the attribute and of some that do not.",
        "What naming the attribute does to ratings",
    ),
    Recipe(
        "Figure 7",
        "Do models that name attributes reward it?",
        "preference",
        draws("habits", "figure 7", habits_by_models),
        "No model both wrote and judged responses.",
        "Models that name attributes, and that reward it",
    ),
    Recipe(
        "Table 4",
        "Sampled users",
        "",
        table_4,
        "No corpus was sampled: people CORPUS sample.",
        "Sampled users, from specialists to generalists",
    ),
    Recipe(
        "Table 5",
        "What is wrong with doubted attributes",
        "attribute",
        table_5,
        "No model was asked: ask STUDY reason, then ask STUDY category.",
    ),
    Recipe("Table 6", "Ratings by people and by judges", "preference", table_6, "No response is rated."),
    Recipe(
        "Table 7",
        "Reasoning before and after learning",
        "relevance",
        table_7,
        "No reasoning model learned from it: train STUDY --task relevance --tier grpo.",
    ),
)
