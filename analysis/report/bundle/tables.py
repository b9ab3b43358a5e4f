"""The bundle's own tables: readings of all texts, runs, spellings, people's decisions, and the multiverse."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from django.db.models import Q

from analysis.answers.compared import runs_of, simulated_users
from analysis.charts.figure import Row
from analysis.exports.answer_tables import ALIAS_DECISIONS, ALIASES, ANSWER_DECISIONS, answer_tables
from analysis.exports.codebook import ExportColumn, ExportTable, boolean, integer, named, number, text
from analysis.exports.exports import stream_rows
from analysis.exports.model_tables import COMPLETION, PROMPTS, QUESTIONS, RUNS, Prompts, SetQuestions, run_row
from analysis.exports.people_tables import Selection
from analysis.models import Completion
from analysis.models.conditions import DRAWN
from analysis.report.dataset import load_frames
from analysis.report.multiverse.choices import CHOICES
from analysis.report.multiverse.curve import say_curve, taken_in
from analysis.report.multiverse.universes import changed_in, curves_of, find_multiverse, is_whole
from surveys.models import BenchmarkItem, Response, Study, asked_of_all
from surveys.studies.lifecycle import definition_of

FEWEST = 5  # people who typed the same model; rarer words could identify a person
READ = (
    text("letter", "the option that the text names; empty when unknown, and for recommendations"),
    ExportColumn(
        "items", "json", "the items that the text names, normalised, in the order of the text, as a JSON list"
    ),
    text("doubt", "why the rules are not sure of it"),
    integer("rules_version", "version of the rules that read it; empty while it is unread"),
    boolean("decided", "whether a person decided what it says"),
)
TEXT = text("text", "the text itself, unchanged")
READINGS = ("answer__letter", "answer__items", "answer__doubt", "answer__rules_version", "answer__decided")

# Tables shared with the exports, here without the study's name.
DECIDED = {"aliases": ALIASES, "alias_decisions": ALIAS_DECISIONS, "answer_decisions": ANSWER_DECISIONS}

Rows = Iterator[dict[str, Any]]
Made = tuple[ExportTable, Callable[[], Rows]]


def own_tables(study: Study, texts: bool) -> Iterator[Made]:
    """Yield each of the bundle's own tables, with a function that makes its rows."""
    extra = (TEXT,) if texts else ()
    first = table("answers", "the answer of one person to one prompt", *ANSWERS, *READ, *extra)
    yield first, lambda: answers(study, asked_of_all("prompt__"))
    yield (
        table("askings", "the answer of one person to a prompt that they were asked again", *ASKINGS, *READ, *extra),
        lambda: answers(study, ~Q(prompt__asks="")),
    )
    yield table("completions", "one call of a model", *COMPLETIONS, *READ, *extra), lambda: completions(study)
    if study.current_id and definition_of(study.current_id).matrix:
        yield (
            table("question_answers", "the answer of one person to a question of the set", *ANSWERS, *READ, *extra),
            lambda: answers(study, Q(prompt__is_drawn=True)),
        )
        yield table("questions", "one question of the set", *QUESTIONS), lambda: SetQuestions(study).iterator(500)
    yield (
        table("runs", "one run of a model, or one import", *RUNS),
        lambda: map(run_row, runs_of(study).select_related("endpoint", *DRAWN).order_by("pk")),
    )
    yield table("prompts", "one prompt of the newest version", *PROMPTS), lambda: Prompts(study).iterator(1)
    yield table("benchmark_items", "the key to one question of a benchmark", *ITEMS), lambda: items(study)
    for name, columns in DECIDED.items():
        shared = next(known for known in answer_tables(()) if known.name == name)
        yield replace(shared, columns=columns), partial(stream_rows, study, shared, Selection())


def table(name: str, row: str, *columns: ExportColumn) -> ExportTable:
    return ExportTable(name, row, columns)


# --- people's answers --------------------------------------------------------

ANSWERS = (
    text("participant", "the person's random label in this study"),
    text("chatbot", "the person's chatbot"),
    text("cell", "the group that the person's place is for"),
    text("memory", "whether memory of earlier chats was on"),
    text("plan", "which plan they use"),
    text("model_shown", f"the model that the chatbot showed; empty where fewer than {FEWEST} people name it"),
    integer("version", "number of the study's version that the person saw"),
    text("origin", "where the person came from; simulated is made up"),
    text("state", "how far the person has come"),
    text("prompt", "the prompt"),
    text("language", "the language in which the prompt was shown"),
    boolean("flagged", "whether a paste check asked about it and the person kept it"),
    text("flags", "the paste checks that did so, with commas"),
    boolean("excluded", "whether a rule of the study leaves the answer or the person out"),
    boolean("counted", "false: a rule leaves it out, or the options were others than those of the newest version"),
    integer("rating", "what the person gave the answer, from 1 to 5; empty where they gave nothing"),
)
ASKINGS = (
    *ANSWERS,
    text("arm", "the state of the account in which it was asked; empty: the usual"),
    integer("occasion", "which time it was asked in this state, from 1"),
    boolean("unreached", "whether the person could not reach the state; then there is no answer"),
)


def answers(study: Study, asked: Q) -> Rows:
    """Yield the newest accepted revision of each answer to the prompts `asked`, without pilots and previews."""
    frames = load_frames(study)
    marked = frames.field.table.set_index("id")[["flagged", "flags", "excluded", "unreached"]]
    marks = marked.assign(flags=marked["flags"].map(",".join)).to_dict("index")
    people = frames.people[~frames.people["pilot"].astype(bool)]
    rare = {name for name, count in Counter(people["model_shown"]).items() if count < FEWEST}
    known = people.to_dict("index")
    newest = Response.objects.filter(asked, participant__in=list(known), accepted=True)
    newest = newest.order_by("participant_id", "prompt_id", "-revision").distinct("participant_id", "prompt_id")
    prompt = (f"prompt__{name}" for name in ("slug", "asks", "arm", "occasion"))
    whose = ("id", "participant_id", "participant__pseudonym", *prompt, "language", "rating", "text")
    for row in newest.values(*whose, *READINGS).iterator(chunk_size=500):
        person, mark = known[row["participant_id"]], marks.get(row["id"])
        yield {
            "participant": row["participant__pseudonym"],
            "prompt": row["prompt__asks"] or row["prompt__slug"],
            "arm": row["prompt__arm"],
            "occasion": row["prompt__occasion"],
            "language": row["language"],
            "rating": row["rating"],
            **{name: person[name] for name in ("chatbot", "cell", "version", "origin", "state", "memory", "plan")},
            "model_shown": "" if person["model_shown"] in rare else person["model_shown"],
            "counted": mark is not None and not mark["excluded"],
            **(mark or {"flagged": None, "flags": "", "excluded": None, "unreached": None}),
            **reading(row),
            "text": row["text"],
        }


def reading(row: dict[str, Any]) -> dict[str, Any]:
    there = row["answer__rules_version"] is not None
    return {
        "letter": row["answer__letter"] or "",
        "items": json.dumps(row["answer__items"], ensure_ascii=False) if there else "",
        "doubt": row["answer__doubt"] or "",
        "rules_version": row["answer__rules_version"],
        "decided": row["answer__decided"],
    }


# --- models' answers ---------------------------------------------------------

COUNTED = ("prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms")
COMPLETIONS = (
    *named(COMPLETION, "run", "user"),
    integer("repeat", "the draw's number, from 0"),
    text("prompt", "the study's prompt that was asked, or empty"),
    text("item", "the benchmark's question that was asked, or empty"),
    text("status", "done or failed"),
    *named(COMPLETION, *COUNTED, "usd", "user_name"),
    text("recipe", "hash of what the simulated user has in front; empty: nothing, or what all others have too"),
)


def completions(study: Study) -> Rows:
    known = {run.pk: run for run in runs_of(study)}
    recipes = {user.pk: user.recipe for user in simulated_users(known)}
    ended = Completion.objects.filter(run__in=known, status__in=["done", "failed"]).order_by("id")
    whose = ("run_id", "user_id", "user__index", "user__name", "repeat", "prompt__slug", "item__item")
    for row in ended.values(*whose, "status", "cost", "reply", *COUNTED, *READINGS).iterator(chunk_size=500):
        yield {
            "run": row["run_id"],
            "user": row["user__index"],
            "user_name": row["user__name"] or "",
            "recipe": recipes.get(row["user_id"], ""),
            "repeat": row["repeat"],
            "prompt": row["prompt__slug"] or "",
            "item": row["item__item"] or "",
            "status": row["status"],
            **{name: row[name] for name in COUNTED},
            "usd": float(row["cost"]),
            **reading(row),
            "text": row["reply"],
        }


# --- questions ---------------------------------------------------------------

ITEMS = (text("benchmark", "its name"), text("item", "the question's id"), text("answer", "the right option"))


def items(study: Study) -> Rows:
    """Yield only the keys: the questions belong to those who published the benchmark."""
    asked = runs_of(study).exclude(benchmark="").values("benchmark")
    found = BenchmarkItem.objects.filter(benchmark__in=asked).order_by("benchmark", "id")
    yield from found.values("benchmark", "item", "answer").iterator()


OF_ROWS = ("planned", "rows", "alone")  # fields of a curve that the table has
UNIVERSES = ExportTable(
    "multiverse",
    "one hypothesis in one universe, or one of its prompts where they are not pooled",
    (
        text("hypothesis", "the hypothesis in the study file"),
        text("prompts", "the prompts that it is about, with commas"),
        integer("universe", "its number; 1 is as planned, then come those with one choice otherwise"),
        *(text(name, f"{each.label}: the option taken; empty where nothing varies") for name, each in CHOICES.items()),
        number("value", "the estimate, a minus b, or a alone: a share, or bits of entropy_bits and jsd_excess"),
        number("low", "lower end of its 95 % interval"),
        number("high", "upper end of its 95 % interval"),
        number("p", "of this universe alone, not corrected"),
        integer("n_a", "independent units of a"),
        integer("n_b", "independent units of b"),
        boolean("same_sign", "whether the estimate has the sign of the planned one; empty where one of them has none"),
        boolean("significant", "whether p is at most the hypothesis' alpha"),
        boolean("simulated", "whether answers of it are made up"),
    ),
)


def whole_multiverse(study: Study) -> dict[str, Any] | None:
    """The multiverse of today's answers; None unless fully computed."""
    found, is_today = find_multiverse(study)
    return found if found and is_today and is_whole(found) else None


def universe_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    for entry in document["hypotheses"]:
        planned = {tuple(row["prompts"]): row["value"] for row in entry["rows"] if not changed_in(entry, row)}
        for row in entry["rows"]:
            value, way = row["value"], planned[tuple(row["prompts"])]
            low, high = row["ci"] or (None, None)
            yield {
                "hypothesis": entry["hypothesis"],
                "prompts": ",".join(row["prompts"]),
                "universe": entry["universes"].index(row["options"]) + 1,
                **dict.fromkeys(CHOICES, ""),
                **taken_in(entry, row),
                **{"value": value, "low": low, "high": high},
                **{name: row[name] for name in ("p", "n_a", "n_b")},
                "same_sign": value * way > 0 if value is not None and way else None,
                "significant": row["p"] <= entry["alpha"] if row["p"] is not None else None,
                "simulated": row["simulated"],
            }


def summarise_multiverse(document: Mapping[str, Any]) -> Row:
    """The multiverse in the bundle's report: curves without rows."""
    curves = [{name: curve[name] for name in curve if name not in OF_ROWS} for curve in curves_of(document)]
    return {"seed": document["seed"], "draws": document["draws"], "curves": curves}


def multiverse_lines(report: Mapping[str, Any]) -> str:
    """The README's section about the multiverse; empty if it is not computed."""
    curves = report.get("multiverse", {}).get("curves", ())
    lines = [f"- `{curve['hypothesis']}` ({', '.join(curve['prompts'])}): {say_curve(curve)}" for curve in curves]
    return "\n".join(["## Multiverse", "", *lines, "", ABOUT, ""]) if lines else ""


ABOUT = """\
Each hypothesis was tested under every combination of choices that could have been made otherwise. Universes share
answers, so neither share is a p. `data/multiverse.csv` has a row for each, `report.json` under `multiverse` what they
say together; `recompute.py` takes the shares, the median and the extremes anew from the rows, and holds the universe
as planned against `as_planned`. Estimates of the other universes are not recomputed."""
