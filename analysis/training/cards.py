"""The model card in Markdown: what a model is, what it was trained on, and how good it is."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.training.examples import format_parts

Row = Mapping[str, Any]
USES = {
    "verifier": "Says whether evidence supports a statement about a person. It marks statements for people to look at; "
    "it decides about nobody.",
    "relevance": "Says whether a statement about a person matters to a prompt.",
    "reward": "Says which of two responses people would prefer.",
}
TIERS = {
    "frozen": "logistic regression over frozen vectors ({vectors}) and shared words",
    "encoder": "fine-tuned encoder",
    "grpo": "reasoning model trained with GRPO",
}


def write_card(report: Row) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Row) -> Iterator[str]:
    yield f"# {report['model']}"
    yield ""
    yield USES[report["task"]]
    yield ""
    yield f"- Task: {report['task']}; the positive label is “{report['positive']}”."
    served = report["settings"].get("embedder")
    vectors = f"of the endpoint {served}" if served else "all-MiniLM-L6-v2, int8"
    yield f"- Kind: {TIERS[report['tier']].format(vectors=vectors)}."
    yield f"- Trained on: {report['trained_on']}, labels `{report['labels_sha256'][:12]}`, split "
    yield f"  `{report['split_sha256'][:12]}`."
    yield from (f"- {said}" for said in (say_tested(report), say_threshold(report)) if said)
    given = ", ".join(f"{name} {value}" for name, value in report["settings"].items() if value not in (None, ""))
    yield f"- Settings: {given}."
    yield ""
    yield from format_parts(report["parts"])
    yield ""
    yield f"## On the test part: {report['n']:,} examples of {report['groups']:,} groups"
    yield ""
    yield from _table(report)
    yield ""
    yield "Intervals are 95 %, over groups. `best_f1` has its threshold from the test part itself and so flatters."
    yield ""
    if "unshared" in report:
        alone, main = report["unshared"], report["main"]
        yield f"On the {alone['n']:,} of them of which no text stands in the training part, {main} is "
        yield f"{number(alone[main], alone['ci'].get(main))}."
        yield ""
    yield from _differences(report)
    yield from _ceiling(report)
    yield "## What to be careful about"
    yield ""
    for warning in report["warnings"] or ["No text of the test part stands in the training part."]:
        yield f"- {warning}"
    yield "- It was tested on groups like those that it was trained on; of others this says little."


def say_tested(report: Row) -> str:
    """Say what the model was tested on, and why; empty if an earlier version tested it."""
    if not (told := report.get("tested")):
        return ""
    part = "all of them" if told["part"] == "all" else f"the {told['part']} part"
    return f"Tested on {told['n']:,} of {told['of']:,} examples, {part}: {told['why']}."


YES = {"verifier": "supported", "relevance": "relevant"}


def say_threshold(report: Row) -> str:
    """Say from which score the model says yes, and how that was found; empty without a threshold."""
    if report["task"] not in YES:
        return ""
    words = f"Threshold: {YES[report['task']]} from a score of {report['threshold']:.4g} on"
    by = report.get("threshold_by")
    if by is None:
        return f"{words}, with the best F1 of “{report['positive']}” on the validation part."
    on = f"there precision {number(by['precision'], by['ci'].get('precision'))}, recall "
    on += (
        f"{number(by['recall'], by['ci'].get('recall'))} on {by['n']:,} examples, {by['positives']:,} of them positive"
    )
    found = f"of “{by['positive']}” on the validation part ({on})"
    return {
        "given": f"{words}, as it was given; {found}.",
        "weight": f"{words}, the middle, since a weight of “{by['positive']}” was given; {found}.",
        "precision": f"{words}, with the best precision at a recall of at least {by['least_recall'] or 0:g} {found}.",
        "f1": f"{words}, with the best F1 {found}.",
    }[by["aim"]]


def _table(report: Row) -> Iterator[str]:
    rows = {report["model"]: report, **report["baselines"]}
    names = list(report["spread"])
    yield f"| | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for name, row in rows.items():
        yield f"| {name} | {' | '.join(number(row.get(each), row['ci'].get(each)) for each in names)} |"
    spread = [
        f"{number(each['min'])} to {number(each['max'])}" if each["mean"] is not None else "–"
        for each in report["spread"].values()
    ]
    yield f"| ends over {len(report['seeds'])} seeds | {' | '.join(spread)} |"


def number(value: float | None, ci: Any = None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" + (f" ({ci[0]:.3f} to {ci[1]:.3f})" if ci else "")


def _differences(report: Row) -> Iterator[str]:
    main = report["main"]
    for name, row in report["differences"].items():
        if main in row and name != report["tier"]:
            found = row[main]
            yield f"- Beats {name} in {main}: **{found['beats']}** ({number(found['value'], found['ci'])})."
    yield ""


def _ceiling(report: Row) -> Iterator[str]:
    ceiling = report["ceiling"]
    yield "## People’s own ceiling"
    yield ""
    if not ceiling["n"]:
        yield f"Not known: it {ceiling['why']}."
    else:
        names = [name for name in ("accuracy", "precision", "recall", "f1") if name in ceiling]
        said = ", ".join(f"{name} {number(ceiling[name], ceiling['ci'].get(name))}" for name in names)
        yield f"Each rater held against the majority of the others, {ceiling['n']:,} comparisons: {said}."
    yield ""
