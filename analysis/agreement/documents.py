"""The published JSON of agreement, derived from rows: plain values, with intervals under `ci` and reasons as `why`."""

from analysis.stats.agreement.agreement import COEFFICIENTS, Row, beside, every
from analysis.stats.agreement.coefficients import MEASURES

ALPHAS = ("nominal", "ordinal", "interval")
SCORES = ("accuracy", "precision", "recall", "f1")
OF_RATERS = (*SCORES, "alpha_without", "mean_kappa")
GROUPINGS = ("corpus", "user", "tag", "statement")


def document_of(found: Row) -> Row:
    return {**found, "questions": [question_document(question) for question in found["questions"]]}


def question_document(question: Row) -> Row:
    """Turn a question's rows into the shape of docs/annotation.md, with the main numbers from its `group`."""
    if "groups" not in question:
        return {**question}
    unit = {"unit": question["unit"]}
    groups = {row["group"]: group_document(row) | unit for row in question["groups"]}
    kept = {name: each for name, each in question.items() if name != "ties"}
    return {
        **kept,
        **groups[question["group"]],
        "groups": groups,
        "pairs": [beside(row, MEASURES) | unit for row in question["pairs"]],
        "raters": [rater_document(row) | unit for row in question["raters"]],
        "majority": question["majority"] | {"tie": question["ties"]},
        "together": beside(question["together"], SCORES),
        **{
            f"by_{name}": [with_shares({**row, "ci": {}}, "shares", row["shares"]) for row in question[f"by_{name}"]]
            for name in GROUPINGS
            if f"by_{name}" in question
        },
        **(
            {"maybe": {name: view_document(view) for name, view in question["maybe"].items()}}
            if "maybe" in question
            else {}
        ),
    }


def group_document(row: Row) -> Row:
    pairwise = {"mean_pairwise": beside(row["means"], MEASURES)}
    if "n" not in row:
        return pairwise
    alphas = every({name: row[f"alpha_{name}"] for name in ALPHAS}, "value")
    named = {name: row[name] for name in COEFFICIENTS}
    shape = {"n": row["n"], "units": row["units"], "alpha": alphas}
    shape |= every({name: row[name] for name in COEFFICIENTS[len(ALPHAS) :]}, "value")
    shape |= {"ci": every(named | {"kappa": row["means"]["kappa"]}, "ci")} | pairwise | {"skew": row["skew"]}
    return with_shares(shape, "prevalence", row["shares"])


def rater_document(row: Row) -> Row:
    shape = with_shares(beside(row, OF_RATERS), "distribution", row["shares"])
    del shape["shares"]
    return shape | against_all(row)


def against_all(row: Row) -> Row:
    """Return a non-voter's scores against the majority of all voters; nothing for voters."""
    return {"against_all": beside(row["against_all"], SCORES)} if "against_all" in row else {}


def view_document(view: Row) -> Row:
    if "raters" not in view:
        return {**view}
    raters = [beside(row, SCORES) | against_all(row) for row in view["raters"]]
    return {**view, "raters": raters, "together": beside(view["together"], SCORES)}


def with_shares(shape: Row, name: str, shares: Row) -> Row:
    """Add shares under `name` and intervals under `ci`; `why` stands a level above, since labels may be any word."""
    shape[name] = {label: share["value"] for label, share in shares.items()}
    shape["ci"][name] = {label: share["ci"] for label, share in shares.items()}
    for place, field in ((shape, "value"), (shape["ci"], "ci")):
        if reasons := [share["why"] for share in shares.values() if share[field] is None]:
            place.setdefault("why", {})[name] = reasons[0]
    return shape
