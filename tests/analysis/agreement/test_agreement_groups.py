"""Agreement and label shares in parts of the labels: corpora, users and kinds of items."""

import csv
import io
from typing import Any

import pytest
from django.urls import reverse

from analysis.agreement.agreements import agreement_of, rows_for
from analysis.agreement.views import write_groups
from surveys.annotation.items import push_items
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import WORDS, annotate_all
from tests.factories import item_of, make_annotation_study, make_annotator
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db

# By key: corpus, user, kind, and two people's labels.
ITEMS = {
    "a": ("real", "u1", "taste", "yy"),
    "b": ("real", "u1", "fact", "yn"),
    "c": ("real", "u2", "fact", "nn"),
    "d": ("synthetic", "u3", "taste", "nn"),
    "e": ("synthetic", "u3", "taste", "yy"),
}


def make_grouped() -> Study:
    study = make_annotation_study(overlap=2)
    given = [
        item_of(0, key=key, corpus=corpus, cluster=user, tags={"kind": kind, "user": user})
        for key, (corpus, user, kind, _) in ITEMS.items()
    ]
    push_items(study, given, "tests")
    for place in range(2):
        annotate_all(make_annotator(study), "relevance", {key: WORDS[row[3][place]] for key, row in ITEMS.items()})
    return study


world = lasting_world(make_grouped)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


def question_of(study: Study, threshold: int = 1) -> dict[str, Any]:
    return agreement_of(study, draws=200, threshold=threshold)["questions"][0]


def test_each_group_has_its_own_numbers(study: Study) -> None:
    question = question_of(study)
    real, synthetic = question["by_corpus"]
    assert (real["corpus"], real["items"], real["n"], real["units"]) == ("real", 3, 6, 2)
    assert real["shares"] == {"no": 0.5, "yes": 0.5}
    assert real["raw"]["value"] == pytest.approx(2 / 3)
    # Both say yes and no once: all agree, and by chance half would, so kappa is 1.
    assert (synthetic["kappa"]["value"], synthetic["raw"]["value"]) == (1, 1)
    assert [(row["user"], row["n"]) for row in question["by_user"]] == [("u1", 4), ("u2", 2), ("u3", 4)]
    assert [(row["tag"], row["n"]) for row in question["by_tag"]] == [("kind:fact", 4), ("kind:taste", 6)]


def test_intervals_draw_users_and_within_one_user_items(study: Study) -> None:
    question = question_of(study)
    taste = question["by_tag"][1]
    # Six labels of two users; two are no evidence of others, and the row says so.
    assert (taste["units"], taste["unit"], taste["ci"]["shares"]["yes"]) == (2, "user", None)
    assert taste["ci"]["why"]["shares"] == "no interval: made of 2 independent units only"
    user = question["by_user"][2]
    assert (user["units"], user["unit"], user["interval"]["kind"]) == (2, "item", "jackknife")
    # Half of all three users' labels are yes, and their interval is that of three users.
    low, high = question["ci"]["prevalence"]["yes"]
    assert low < 0.1 and high > 0.9


def test_a_group_of_all_labels_has_the_intervals_of_all() -> None:
    study = make_annotation_study(slug="herbs", overlap=2)
    push_items(study, [item_of(n, corpus="real", cluster=f"u{n}") for n in range(10)], "tests")
    for said in ("yn", "yyn"):
        annotate_all(make_annotator(study), "relevance", {f"item-{n}": WORDS[said[n % len(said)]] for n in range(10)})
    question = question_of(study)
    (real,) = question["by_corpus"]
    assert (question["units"], question["interval"]["kind"]) == (10, "bootstrap")
    for name, whole in (("alpha", "alpha_nominal"), ("kappa", "kappa"), ("raw", "raw"), ("ac1", "ac1")):
        assert real[name]["ci"] == question["ci"][whole] is not None


def test_judges_do_not_count_beside_people(study: Study) -> None:
    before = question_of(study)["by_corpus"]
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini", {"relevance": "yes"})
    assert question_of(study)["by_corpus"] == before


@pytest.mark.parametrize("name", ["bm25", "mini"])
def test_the_page_says_whose_labels_its_parts_hold(study: Study, name: str) -> None:
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, name, {"relevance": "yes"})
    words = lines_of(log_in(study).get(reverse("agreement:overview", args=[study.slug])))
    assert "Labels by people; the share" in words and "The majority is that of people without one" in words
    Annotation.objects.filter(item__study=study, participant__isnull=False).delete()
    words = lines_of(log_in(study, name="bob").get(reverse("agreement:overview", args=[study.slug])))
    assert f"Labels by {'judges' if name == 'mini' else 'models'}; the share" in words


def test_judges_count_where_nobody_else_labels() -> None:
    study = make_annotation_study(slug="herbs")
    push_items(study, [item_of(0, corpus="real")], "tests")
    record_judgement(AnnotationItem.objects.get(study=study), "mini", {"relevance": "yes"})
    (row,) = question_of(study)["by_corpus"]
    assert (row["n"], row["shares"]["yes"]) == (1, 1)
    assert (row["kappa"]["value"], row["kappa"]["why"]) == (None, "no two raters share 1 items")


def test_file_has_a_row_for_each_number_with_its_reason(study: Study) -> None:
    question = rows_for(study, draws=200, threshold=20)["questions"][0]
    rows = list(csv.DictReader(io.StringIO(write_groups(question))))
    assert len(rows) == (2 + 3 + 2) * (4 + 2)
    kappa = next(row for row in rows if (row["group"], row["measure"]) == ("real", "kappa"))
    assert (kappa["value"], kappa["why"]) == ("", "no two raters share 20 items")
    share = next(row for row in rows if (row["group"], row["measure"]) == ("real", "share of yes"))
    assert (share["grouping"], share["n"], share["value"], share["low"], share["high"]) == (
        *("corpus", "6", "0.5", "", ""),
    )
