"""The basis of all numbers: how many answers there are, of which sources, which are simulated or excluded."""

from dataclasses import replace
from typing import Any

import numpy as np

from analysis.answers.read_backs import kept_accuracy
from analysis.answers.readings import outdated
from analysis.answers.reviews import answers_of, waiting
from analysis.answers.samples import say_errors
from analysis.report.columns import Part
from analysis.report.samples import Data, Row, Source, source_of
from surveys.models import Participant
from surveys.studies.exclusions import ExclusionRule, excluded_people, excluded_responses, rules_of
from surveys.studies.flow import flow_counts
from surveys.studies.wording import join_words, language_name


def about(data: Data) -> Row:
    field, accuracy = data.frames.field.table, kept_accuracy(data.study)
    return {
        "groups": [
            {"chatbot": group.chatbot, "models": list(dict.fromkeys(source.model for source in group.others))}
            for group in data.groups
        ],
        "sources": source_rows(data),
        "repeated": repeated(data),
        "answers": {
            "field": int(data.counted.sum()),
            "people": int(len(np.unique(field["unit"][data.counted]))),
            "models": sum(row["answers"] for row in source_rows(data)),
            "unread": data.frames.unread,
            "reworded": data.frames.reworded,
            "outdated": outdated(data.study),
            "waiting": waiting(answers_of(data.study)).count(),
        },
        "readings": accuracy["rows"],
        "reading_errors": accuracy["errors"],
        "reading_error": say_errors(accuracy["errors"]),
        "simulated": simulated(data),
        "languages": languages(data),
        "exclusions": exclusions(data),
    }


def source_rows(data: Data) -> list[Row]:
    return [source_row(data, source) for source in data.sources]


def source_row(data: Data, source: Source) -> Row:
    """`main`: whether tables show the source; calibration and benchmarks show the others too."""
    return {
        **source.key,
        "chatbot": source.chatbot,
        **source.settings,
        "runs": list(source.runs),
        "answers": sum(data.frames.calls_of(run) for run in source.runs),
        "simulated": source.simulated,
        "main": source in data.main_sources,
    }


def repeated(data: Data) -> list[Row]:
    """Repetitions of an earlier run, which are compared with that run and counted nowhere else."""
    runs = data.frames.runs
    return [
        source_row(data, replace(source, runs=(run.pk,))) | {"first": run.first_run_id}
        for run in runs.values()
        if run.first_run_id in runs
        and data.frames.calls_of(run.pk)
        and data.filters.wants_source(source := source_of(run, data.definition))
    ]


def simulated(data: Data) -> Row:
    """How many of the people whose answers count, and which of the models that pass the filters, are simulated."""
    field = data.frames.field.table
    counted = data.people.index.isin(field["unit"][data.counted])
    people = data.people["origin"][counted] == Participant.Origin.SIMULATED
    made_up = [
        run
        for run in data.frames.runs.values()
        if run.is_simulated and data.filters.wants_source(source_of(run, data.definition))
    ]
    models = sorted({run.model for run in made_up})
    return {
        "people": int(people.sum()),
        "people_in_all": len(people),
        "completions": sum(data.frames.calls_of(run.pk) for run in made_up),
        "models": models,
        "is_any": bool(people.any() or made_up),
    }


def languages(data: Data) -> Row:
    """Answers by the language of their prompt; `sentence` is empty if all are in the models' language."""
    asked, own = data.frames.field.table["language"][data.counted], data.definition.language
    counts = {str(code): int(count) for code, count in asked.value_counts().sort_index().items()}
    return {"answers": counts, "models": own, "sentence": say_languages(counts, own) if {*counts} - {own} else ""}


def say_languages(counts: dict[str, int], own: str) -> str:
    said = [f"{count:,} to {language_name(code)} prompts" for code, count in counts.items()]
    together = " They are counted together: choose a language to see one alone." if len(said) > 1 else ""
    models = f" Models are asked in {language_name(own)}, so part of a difference may be the language's."
    return f"The field's answers are {join_words(said)}.{together}{models}"


def exclusions(data: Data) -> list[Row]:
    """Each rule, with the numbers of people and answers that it excludes here; one may meet several rules."""
    people, responses = excluded_people(data.study), excluded_responses(data.study)
    counted = data.narrowed(excluded="with")
    here = counted.frames.field.table[counted.counted]
    return [rule_row(rule, here, people, responses) for rule in rules_of(data.study)]


def rule_row(
    rule: ExclusionRule, here: Any, people: dict[int, tuple[str, ...]], responses: dict[int, tuple[str, ...]]
) -> Row:
    persons = [person for person, rules in people.items() if rule.slug in rules]
    single = [response for response, rules in responses.items() if rule.slug in rules]
    of_people = here[here["unit"].isin(persons)]
    return {
        "slug": rule.slug,
        "text": rule.text,
        "rule": rule.words,
        "kind": rule.kind,
        "scope": rule.scope,
        "declared": rule.declared,
        "later": rule.is_later,
        "people": int(of_people["unit"].nunique()),
        "answers": int(len(of_people) + here["id"].isin(single).sum()),
    }


FLOW_OF = {"without": "main", "with": "all", "only": "pilot"}


def flow(data: Data) -> Row:
    """The numbers of people who arrived, and who left at each stage."""
    return flow_counts(data.study, FLOW_OF[data.filters.pilot])


ABOUT = Part(
    "about",
    "what there is",
    about,
    {
        "excluded": "Left out by a rule of the study file, declared before the launch or labelled as later.",
        "flagged": "A paste check asked about the answer, and the person said that it is what they got.",
        "simulated": "Made up by the platform: people that a program plays, models whose answers are scripted.",
    },
)
FLOW = Part("flow", "the flow of people", flow, {})
