"""Models' answers about items beside annotators' labels: categories of mistakes, and what responses name."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from sklearn.metrics import cohen_kappa_score

from analysis.agreement.agreements import agreement_of
from analysis.agreement.annotations import LabelChoice
from analysis.models import Task
from surveys.annotation.items import push_items
from surveys.annotation.work import next_tasks
from surveys.models import Annotation, AnnotationItem, Participant, Study
from tests.analysis.agreement.annotation_samples import annotate_all, number_of
from tests.analysis.people.people_samples import ask, command, judge_items
from tests.analysis.runs.servers import make_fake
from tests.factories import annotate, make_annotation_study, make_annotator, make_items
from tests.lasting import copied_world
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db(transaction=True)
SAID = {f"item-{n}": "nny" for n in range(4)} | {"item-4": "yym", "item-5": "yyy"}
# What the model says about the five that somebody doubts.
NAMED = {
    **{"item-0": "other", "item-1": "other", "item-2": "missing-evidence", "item-3": "overgeneralisation"},
    "item-4": "other",
}
MODEL = "scripted category-1 (simulated)"


@copied_world
def categorised() -> Study:
    """Six attributes of two users: four of the first, two of the second."""
    make_fake()
    study = make_annotation_study(kind="attribute", slug="facts")
    make_items(study, len(SAID))
    judge_items(study, "quality", SAID)
    ask(study, "reason")
    ask(study, "category")
    for row in Task.objects.filter(run__instruction="category-1"):
        row.values = {"category": NAMED[row.annotation_item.key]}
        row.save()
    return study


def test_shares_of_a_models_categories_stand_with_their_n_over_users(categorised: Study) -> None:
    study = categorised
    found = agreement_of(study)["questions"][0]["categories"]
    assert (found["doubted"], found["reasons"]) == (5, [{"model": "scripted reason-1 (simulated)", "n": 5}])
    (row,) = found["models"]
    assert (row["model"], row["n"], row["unit"], row["units"]) == (MODEL, 5, "user", 2)
    shares = {name: each["value"] for name, each in row["shares"].items()}
    assert shares == pytest.approx(
        {"overgeneralisation": 1 / 5, "missing-evidence": 1 / 5, "task-context": 0, "not-standalone": 0, "other": 3 / 5}
    )
    assert "2 independent units" in row["shares"]["other"]["why"]
    one = agreement_of(study, LabelChoice(cluster="user-0"))["questions"][0]["categories"]
    assert (one["doubted"], one["models"][0]["n"]) == (4, 4)
    page = log_in(study).get(f"/console/{study.slug}/agreement/").content.decode()
    assert "What models say is wrong" in page and "53.9" in page
    out = StringIO()
    call_command("agreement", study.slug, stdout=out)
    assert "Of 5 attributes that somebody doubts; reasons: 5 by scripted reason-1 (simulated)" in out.getvalue()
    item = AnnotationItem.objects.get(study=study, key="item-0")
    page = log_in(study, name="bob").get(f"/console/{study.slug}/agreement/items/{item.pk}/").content.decode()
    assert "scripted reason-1 (simulated)" in page and "The quotes say less than the statement." in page
    # The newer of two replies about an item counts.
    row = Task.objects.get(run__instruction="category-1", annotation_item__key="item-3")
    Task.objects.create(
        **{"run": row.run, "key": "asked again", "annotation_item": row.annotation_item, "payload": row.payload},
        **{"sha256": row.sha256, "values": {"category": "other"}, "read_at": row.read_at},
    )
    after = agreement_of(study)["questions"][0]["categories"]["models"][0]
    assert (after["shares"]["other"]["value"], after["n"]) == (pytest.approx(4 / 5), 5)


def test_doubts_of_simulated_people_are_left_out_with_their_labels(categorised: Study) -> None:
    """The third person doubts one attribute; the two others, who doubt four more, are made up."""
    study = categorised
    made_up = study.participants.order_by("pk").values_list("pk", flat=True)[:2]
    Participant.objects.filter(pk__in=[*made_up]).update(origin="simulated")
    found = agreement_of(study, LabelChoice(simulated=False), draws=20)["questions"][0]
    assert (found["labels"], found["categories"]["doubted"]) == (6, 1)


def test_models_that_named_mistakes_are_raters_beside_annotators(categorised: Study) -> None:
    study, into = categorised, make_annotation_study(kind="error", slug="errors")
    report = command("push_rejected", study.slug, "errors", "--rule", "majority")
    assert (report["items"], report["categories"]) == (4, 4)
    assert command("push_rejected", study.slug, "errors", "--rule", "doubt")["categories"] == 1
    assert command("push_rejected", study.slug, "errors")["categories"] == 0
    for _ in range(3):
        annotate_all(make_annotator(into), "error", dict.fromkeys(NAMED, "other"))
    found = agreement_of(into)
    (question,) = found["questions"]
    model = next(row for row in question["raters"] if row["is_model"])
    assert (model["rater"], model["kind"], model["n"]) == ("scripted category-1", "judge", 5)
    assert model["distribution"]["other"] == pytest.approx(3 / 5) and model["accuracy"] == pytest.approx(3 / 5)
    assert question["groups"]["models"]["prevalence"]["other"] == pytest.approx(3 / 5)
    assert "scripted category-1" in found["simulated"]
    item = AnnotationItem.objects.get(study=into, key="item-0")
    page = log_in(into).get(f"/console/errors/agreement/items/{item.pk}/").content.decode()
    assert "The quotes say less than the statement." in page
    row = Task.objects.get(run__instruction="category-1", annotation_item__key="item-0")
    Task.objects.filter(pk=row.pk).update(values={"category": "task-context"})
    assert command("push_rejected", study.slug, "errors")["categories"] == 1
    newest = Annotation.objects.filter(item=item, judge="scripted category-1").order_by("revision").last()
    assert newest.labels == {"error": "task-context"}


# --- mentions

WORDS = ("copper kettles", "silver spoons", "linen napkins", "walnut trays", "brass clocks", "velvet chairs")
# Whether the response has the attribute's words, and so the rule says yes; what the model says; two ratings.
TRUTH = [
    *((True, True, "55"), (True, True, "45"), (True, False, "54"), (True, True, "44")),
    *((False, False, "12"), (False, True, "11"), (False, False, "22"), (False, False, "21")),
] * 3


def make_rated(source: str = "") -> Study:
    """24 responses for 12 users, each with one attribute; two people rate them."""
    study = make_annotation_study(kind="preference", slug="answers", overlap=2, quota=len(TRUTH))
    rows = []
    for n, (named, _, _) in enumerate(TRUTH):
        words = WORDS[n % len(WORDS)]
        rows.append(
            {
                **{"key": f"item-{n}", "prompt": "Which tea?", "generic": "Assam.", "cluster": f"user-{n // 2}"},
                "personalised": f"Assam, beside your {words}." if named else "Assam, with lemon.",
                "attributes": [{"id": "a", "text": f"Collects {words}."}],
                **{"tags": {"generator": "claude" if n % 2 else "llama"}, "source": source},
            }
        )
    push_items(study, rows, "tests")
    for place in range(2):
        said = {f"item-{n}": ratings[place] for n, (_, _, ratings) in enumerate(TRUTH)}
        annotate_all(make_annotator(study), "preference__a", said)
    return study


def tell(study: Study) -> None:
    """Fill in the model's replies from TRUTH."""
    for row in Task.objects.filter(run__instruction="mentions-1"):
        row.values = {"mentioned": [TRUTH[number_of(row.annotation_item)][1]]}
        row.save()


def ratings_of(study: Study) -> dict[str, Any]:
    return agreement_of(study)["questions"][0]["ratings"]


def test_models_word_stands_beside_the_rule_with_their_agreement() -> None:
    make_fake()
    study = make_rated()
    assert ratings_of(study)["mentions"] == {**{"rule": 1, "named": 12, "not_named": 12, "undecided": 0, "given": 0}}
    client = log_in(study)
    page = client.get("/console/answers/agreement/").content.decode()
    assert "Models beside the word rule" not in page and "left out: in the paper a model told" in page
    assert ask(study, "mentions")["read"] == len(TRUTH)
    tell(study)
    page = client.get("/console/answers/agreement/").content.decode()
    assert "12 users are drawn 1000 times" in " ".join(page.split())
    assert "Models beside the word rule" in page and "left out: in the paper a model told" not in page
    out = StringIO()
    call_command("agreement", "answers", stdout=out)
    assert "Same as the rule 75" in " ".join(out.getvalue().split())
    (row,) = ratings_of(study)["mentions"]["models"]
    assert (row["model"], row["n"], row["units"], row["unit"]) == ("scripted mentions-1 (simulated)", 24, 12, "user")
    rule, model = ([row[place] for row in TRUTH] for place in (0, 1))
    assert row["agreement"]["value"] == pytest.approx(18 / 24)
    assert row["kappa"]["value"] == pytest.approx(cohen_kappa_score(rule, model))
    for name in ("agreement", "kappa"):
        low, high = row[name]["ci"]
        assert low < row[name]["value"] < high and row[name]["n"] == 24
    # Every second one from the first is llama's: the model calls 1 of 4 in each eight named, and 3 of claude's 4.
    rates = {each["generator"]: each["mention_rate"]["value"] for each in row["generators"]}
    assert rates == pytest.approx({"llama": 1 / 4, "claude": 3 / 4})
    by_word = {True: [], False: []}
    for _, said, ratings in TRUTH:
        by_word[said] += map(int, ratings)
    mean = {said: sum(given) / len(given) for said, given in by_word.items()}
    people = next(each["gap"] for each in row["gaps"] if each["rater"] == "people")
    assert people["value"] == pytest.approx(mean[True] - mean[False]) and people["ci"]


def test_what_was_asked_where_responses_were_written_counts_for_their_items() -> None:
    make_fake()
    study, _ = (
        make_annotation_study(kind="relevance", slug="pairs"),
        make_annotation_study(kind="preference", slug="to"),
    )
    row = {"prompt": "Which tea?", "cluster": "ann"}
    texts = ("Collects copper kettles.", "Has a silver spoon.")
    push_items(
        study, [row | {"key": text[:5], "attribute": text, "source": str(n)} for n, text in enumerate(texts)], "t"
    )
    judge_items(study, "relevance", {}, "yyy")
    ask(study, "respond")
    assert ask(study, "mentions")["read"] == 1
    into = Study.objects.get(slug="to")
    assert command("push_relevant", "pairs", "--to", "to")["items"] == 1
    annotate(person := make_annotator(into), next(iter(next_tasks(person))), preference__0="5", preference__1="2")
    Task.objects.filter(run__instruction="mentions-1").update(values={"mentioned": [True, False]})
    (told,) = ratings_of(into)["mentions"]["models"]
    assert told["named"] == 1 and told["generators"][0]["mention_rate"]["value"] == pytest.approx(1 / 2)


def test_mentions_are_asked_about_studies_with_responses() -> None:
    make_fake()
    with pytest.raises(CommandError, match="with the kind `relevance` or `preference`"):
        ask(make_annotation_study(kind="attribute", slug="facts"), "mentions")
