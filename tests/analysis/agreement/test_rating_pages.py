"""The parts of the agreement page about ratings and groups, with their figures, files and published values."""

import csv
import io
from dataclasses import replace

import pytest
from django.urls import reverse

from analysis.agreement.agreements import rows_for
from analysis.agreement.figures import RATING_FIGURES, bars_of
from analysis.agreement.follow_ups.tables import summarise_categories, tables_of
from analysis.agreement.kind_tables import PUBLISHED, compare_published, make_ratings
from analysis.charts.figure import Options
from analysis.charts.tables import Cell
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import QuestionWords
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.analysis.agreement.test_ratings import make_rated
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, make_work
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db
LABELS = ("1", "2", "3", "4", "5")


world = lasting_world(make_rated)


@pytest.fixture
def rated(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


def test_page_says_what_personalised_responses_are_worth(rated: Study) -> None:
    page = log_in(rated).get(reverse("agreement:overview", args=["teas"]))
    words = lines_of(page)
    # Ratings 2, 3, 5 and 3, each of a different response.
    assert "by the mean of their ratings, for 75 % of the attributes rated" in words and "in 75 % of ratings" in words
    assert "the attribute they are rated for: 1 of 4 (4 by the items’ own word, all others by rule 1)." in words
    ratings = page.context["ratings"]
    assert [row[0].text for row in ratings.generators.rows] == ["plain", "showy"]
    assert [row[0].text for row in ratings.raters.rows] == ["people", "plain same-1", "showy same-1"]
    assert [cell.text for cell in ratings.raters.rows[2][1:-1]] == ["3.50", "75\u202f%", "75\u202f%", "0.82", "2.00"]


def test_one_rating_that_prefers_no_side_and_parts_of_one_item_are_said_as_such() -> None:
    study = make_annotation_study(slug="herbs", kind="preference", overlap=1)
    make_items(study, 1)
    annotate(make_annotator(study))  # 4 for one attribute, 3 for the other
    words = lines_of(log_in(study, "viewer").get(reverse("agreement:overview", args=["herbs"])))
    assert "2 labels by 1 rater of 2 labelled parts of 1 item" in words
    assert "1 rating prefers neither side." in words


@pytest.mark.parametrize(
    ("items", "intervals"),
    [
        (1, "95 % intervals take at least 3 pairs of responses."),
        (3, "95 % intervals: 3 pairs of responses, each left out once, by Student’s t."),
        (10, "10 pairs of responses are drawn 20 times for the 95 % intervals."),
    ],
)
def test_how_intervals_of_ratings_are_made_is_said_of_few_and_of_many(items: int, intervals: str) -> None:
    study = make_annotation_study(slug="herbs", kind="preference", overlap=1)
    make_items(study, items)
    person = make_annotator(study)
    while annotate(person):
        pass
    (question,) = rows_for(study, draws=20)["questions"]
    found = make_ratings(question)
    assert found and found.intervals == intervals


def test_without_people_the_sentence_names_the_judge_whose_numbers_it_gives(rated: Study) -> None:
    Annotation.objects.filter(item__study=rated, participant__isnull=False).delete()
    (question,) = rows_for(rated, draws=20)["questions"]
    found = make_ratings(question)
    assert found and found.answer.startswith("The judge plain same-1 finds the personalised response no better")
    assert "the mean rating is 2.75" in found.answer  # 2 for the one that names the attribute, else 3
    for kind, who in (("trained", "The trained model"), ("baseline", "The baseline")):
        found = make_ratings(question | {"raters": [rater | {"kind": kind} for rater in question["raters"]]})
        assert found and found.answer.startswith(f"{who} plain same-1 finds the")


def test_every_table_for_the_terminal_has_a_title(rated: Study) -> None:
    (question,) = rows_for(rated, draws=20)["questions"]
    titles = [table.title for table in tables_of(question) if table]
    assert all(titles) and {"Models that both write and judge", "Gap by the model that wrote the response"} <= {*titles}
    assert summarise_categories({"doubted": 1, "reasons": []}) == "Of 1 attribute that somebody doubts"


@pytest.mark.parametrize(("name", "rows"), [("ratings", 14), ("mentions", 6), ("habits", 2)])
def test_figures_are_files_with_their_numbers(rated: Study, name: str, rows: int) -> None:
    client = log_in(rated)
    drawn = client.get(reverse("agreement:figure", args=["teas", name, "svg"]))
    assert (drawn["Content-Type"], drawn.content[:4]) == ("image/svg+xml", b"<svg")
    table = client.get(reverse("agreement:figure", args=["teas", name, "csv"]))
    assert table["Content-Type"].startswith("text/csv")
    assert len(list(csv.DictReader(io.StringIO(table.text)))) == rows


def test_bars_of_one_model_lie_end_to_end() -> None:
    shares = [
        {"panel": label, "row": "m", "n": 10, "value": value} for label, value in (("1", 0.2), ("2", 0.0), ("3", 0.8))
    ]
    bars = [part for part in bars_of(shares) if part["kind"] == "bar"]
    assert [(bar["start"], bar["end"]) for bar in bars] == [(0, 0.2), (0.2, 0.2), (0.2, 1.0)]
    assert [part["short"] for part in bars_of(shares) if part["kind"] == "label"] == ["1", "3"]


@pytest.mark.parametrize("name", list(RATING_FIGURES))
def test_figures_without_ratings_say_so(name: str) -> None:
    drawn = RATING_FIGURES[name].draw({"question": "relevance"}, Options())
    assert drawn.table == [] and drawn.alt


def test_only_rated_studies_offer_figures_of_ratings(rated: Study) -> None:
    other, _ = make_annotated(slug="herbs")
    for study, offered in ((rated, True), (other, False)):
        page = log_in(study, name=f"ada-{study.slug}").get(reverse("agreement:overview", args=[study.slug]))
        assert ("ratings" in page.context["figures"]) is offered


def test_groups_are_a_table_and_a_file(rated: Study) -> None:
    client = log_in(rated)
    tables = client.get(reverse("agreement:overview", args=["teas"])).context["groups"]
    assert [(table.columns[0].label, [row[0].text for row in table.rows]) for _, table in tables] == [
        ("Tag", ["generator:plain", "generator:showy"]),
        ("User", ["user-0", "user-1"]),
    ]
    response = client.get(reverse("agreement:groups", args=["teas"]))
    assert "teas-groups.csv" in response["Content-Disposition"]
    assert "tag,generator:plain,share of 2" in response.text


def test_published_values_stand_beside_ours_with_their_place(rated: Study) -> None:
    question = rows_for(rated, draws=20)["questions"][0]
    worded = replace(make_work(kind="preference"), wording="recentering-humans")
    lines = {name.text: row for name, *row in compare_published(worded, question, pilot=False)}
    where, theirs, ours = lines["Mean rating by people"]
    assert (where.text, theirs.value, ours.value) == ("table 6", 3.176, 3.25)
    _, theirs, ours = lines["Mean rating by GPT-5.4"]
    assert (theirs.value, ours.value, ours.why) == (3.523, None, "not among the raters")


def test_published_values_are_marked_where_people_are_asked_in_other_words(rated: Study) -> None:
    page = lines_of(log_in(rated).get(reverse("agreement:overview", args=["teas"])))
    assert "table 6; other wording" in page
    question = rows_for(rated, draws=20)["questions"][0]
    own = replace(
        make_work(kind="preference"), wording="recentering-humans", wordings=(QuestionWords("preference", "Which?"),)
    )
    assert all("other wording" in where.text for _, where, *_ in compare_published(own, question, pilot=False))


def first(study: Study) -> Cell:
    question = rows_for(study, draws=5)["questions"][0]
    return compare_published(make_work(kind="error"), question, pilot=False)[0][-1]


def test_shares_of_errors_stand_beside_published_ones_only_where_a_judge_named_all_that_was_doubted() -> None:
    study = make_annotation_study(slug="errors", kind="error", overlap=1)
    make_items(study, 2, tags={"rejected by": "doubt"})
    person = make_annotator(study)
    while annotate(person):
        pass
    assert (first(study).value, first(study).why.startswith("left out: in the paper a model named")) == (None, True)
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini", {"error": "overgeneralisation"})
    assert first(study).value == 1
    make_items(study, 1, start=9, tags={"rejected by": "majority"})
    record_judgement(AnnotationItem.objects.get(key="item-9"), "mini", {"error": "other"})
    annotate(person)
    assert first(study).value is None


def test_published_shares_of_judges_stand_beside_ours_where_nobody_else_labels() -> None:
    study = make_annotation_study(slug="errors", kind="error", overlap=1)
    make_items(study, 2, tags={"rejected by": "doubt"})
    for item, error in zip(AnnotationItem.objects.filter(study=study), ("overgeneralisation", "other"), strict=True):
        record_judgement(item, "mini", {"error": error})
    assert first(study).value == 0.5
    annotate(make_annotator(study))  # a person who has labelled one of the two
    assert first(study).value == 0.5


def test_error_categories_have_published_shares() -> None:
    study = make_annotation_study(slug="errors", kind="error")
    shares = {row.measure.removeprefix("share:"): row.value for row in PUBLISHED["error"]}
    values = rows_for(study, draws=5)["questions"][0]["values"]
    assert list(shares) == values and sum(shares.values()) == pytest.approx(1)
