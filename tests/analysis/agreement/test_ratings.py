"""Ratings of personalised responses from few labels: by writer, by rater, and the effect of naming the attribute."""

from typing import Any

import pytest

from analysis.agreement.agreements import agreement_of
from surveys.annotation.items import push_items
from surveys.models import AnnotationItem, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import annotate_all
from tests.factories import annotate, make_annotation_study, make_annotator
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db

# By writer: whether each of two responses names the attribute (the item says so), and the person's rating of it.
RESPONSES = {"plain": ((False, "2"), (False, "3")), "showy": ((True, "5"), (False, "3"))}


def make_rated(cluster: bool = True, slug: str = "teas") -> Study:
    """Four responses with one attribute each, rated by one person; judges `plain` and `showy` rate them too."""
    study = make_annotation_study(slug=slug, kind="preference", overlap=1)
    rows = [(writer, number, *row) for writer, found in RESPONSES.items() for number, row in enumerate(found)]
    push_items(study, [item_of(*row, cluster) for row in rows], "tests")
    said = {f"{writer}-{number}": rating for writer, number, _, rating in rows}
    annotate_all(make_annotator(study), "preference__milk", said)
    for item in AnnotationItem.objects.filter(study=study):
        named = item.payload["attributes"][0]["mentioned"]
        record_judgement(item, "showy same-1", {"preference/milk": "5" if named else "3"}, left="generic")
        record_judgement(item, "plain same-1", {"preference/milk": "2" if named else "3"}, left="generic")
    return study


def item_of(writer: str, number: int, named: bool, rating: str, cluster: bool) -> dict[str, Any]:
    return {
        "key": f"{writer}-{number}",
        "cluster": f"user-{number}" if cluster else "",
        "tags": {"generator": writer},
        "prompt": "Which tea?",
        "attributes": [{"id": "milk", "text": "Drinks no milk.", "mentioned": named}],
        "generic": "Assam.",
        "personalised": "Assam, black.",
    }


def ratings_of(study: Study) -> dict[str, Any]:
    return agreement_of(study, draws=50)["questions"][0]["ratings"]


world = lasting_world(make_rated, ratings_of)


@pytest.fixture
def rated(world: int) -> dict[str, Any]:
    return ratings_of(Study.objects.get(pk=world))


def test_each_writers_responses_have_a_mean_a_share_and_how_ratings_fall(rated: dict[str, Any]) -> None:
    plain, showy = rated["generators"]
    assert (plain["generator"], plain["n"], plain["items"]) == ("plain", 2, 2)
    assert (plain["mean"]["value"], plain["no_better"]["value"]) == (2.5, 1)
    assert (showy["mean"]["value"], showy["no_better"]["value"]) == (4, 0.5)
    assert {label: share["value"] for label, share in showy["shares"].items()} == {
        **{"1": 0, "2": 0, "3": 0.5, "4": 0, "5": 0.5}
    }
    assert plain["gaps"]["people"]["value"] is None
    assert "some that do not" in plain["gaps"]["people"]["why"]
    assert showy["gaps"]["people"]["value"] == 2
    assert (plain["mention_rate"]["value"], showy["mention_rate"]["value"]) == (0, 0.5)


def test_no_better_is_of_the_mean_rating_of_each_response_beside_that_of_single_ratings() -> None:
    """Three people rate two responses 2, 5, 5 (mean 4) and 3, 3, 4 (mean 3.3): three of six ratings are no better."""
    study = make_annotation_study(slug="herbs", kind="preference", overlap=3)
    push_items(study, [item_of("plain", number, False, "", True) for number in range(2)], "tests")
    for said in ({"plain-0": "2", "plain-1": "3"}, {"plain-0": "5", "plain-1": "3"}, {"plain-0": "5", "plain-1": "4"}):
        annotate_all(make_annotator(study), "preference__milk", said)
    found = ratings_of(study)
    for row in (found["raters"][0], found["generators"][0]):
        assert (row["no_better"]["value"], row["no_better"]["n"]) == (0.5, 6)
        assert (row["no_better_means"]["value"], row["no_better_means"]["n"], row["units"]) == (0, 2, 2)


def test_gap_is_of_people_and_of_each_judge_who_is_ranked_against_people(rated: dict[str, Any]) -> None:
    people, plain, showy = rated["raters"]
    assert [people["rater"], plain["rater"], showy["rater"]] == ["people", "plain same-1", "showy same-1"]
    # The person gives 5 where it is named, and 2, 3 and 3 elsewhere.
    assert people["gap"]["value"] == pytest.approx(5 - 8 / 3)
    assert (plain["gap"]["value"], showy["gap"]["value"]) == (-1, 2)
    assert (people["n"], showy["mean"]["value"], "spearman" in people) == (4, 3.5, False)
    # People 2, 3, 5, 3 have ranks 1, 2.5, 4, 2.5; the judge 3, 3, 5, 3 has 2, 2, 4, 2: products 3, squares 4.5 and 3.
    assert showy["spearman"]["value"] == pytest.approx(3 / (4.5 * 3) ** 0.5)
    assert plain["spearman"]["value"] == pytest.approx(-3 / (4.5 * 3) ** 0.5)
    assert showy["spearman"]["n"] == 4


def test_models_that_write_and_judge_are_matched_by_name(rated: dict[str, Any]) -> None:
    habits = rated["habits"]
    assert [(row["generator"], row["rater"]) for row in habits["models"]] == [
        ("plain", "plain same-1"),
        ("showy", "showy same-1"),
    ]
    assert (habits["spearman"]["value"], habits["spearman"]["n"]) == (None, 2)
    assert "needs 3 models" in habits["spearman"]["why"]
    assert rated["mentions"] == {"rule": 1, "named": 1, "not_named": 3, "undecided": 0, "given": 4}


def test_users_are_drawn_and_without_users_pairs_of_responses(rated: dict[str, Any]) -> None:
    assert (rated["drawn"], rated["units"]) == ("users", 2)
    alone = ratings_of(make_rated(cluster=False, slug="herbs"))
    assert (alone["drawn"], alone["units"]) == ("items", 4)


def test_judges_alone_are_compared_with_nobody() -> None:
    study = make_annotation_study(slug="herbs", kind="preference")
    push_items(study, [item_of("plain", 0, True, "", False)], "tests")
    record_judgement(AnnotationItem.objects.get(study=study), "mini", {"preference/milk": "4"}, left="generic")
    found = ratings_of(study)
    (mini,) = found["raters"]
    assert (mini["rater"], mini["mean"]["value"], mini["spearman"]["value"]) == ("mini", 4, None)
    assert mini["spearman"]["why"].startswith("needs two different ratings")
    assert found["generators"][0]["mean"]["value"] == 4


def test_a_trained_model_has_no_say_in_what_responses_are_worth_even_if_only_judges_rated_them() -> None:
    study = make_annotation_study(slug="herbs", kind="preference")
    push_items(study, [item_of("plain", 0, True, "", True)], "tests")
    item = AnnotationItem.objects.get(study=study)
    for rater, said in (("trained taste 1", "5"), ("zeta same-1", "2")):
        record_judgement(item, rater, {"preference/milk": said}, left="generic")
    found = ratings_of(study)
    assert [row["rater"] for row in found["raters"]] == ["zeta same-1", "trained taste 1"]
    (writer,) = found["generators"]
    assert (writer["n"], writer["mean"]["value"], writer["no_better"]["value"]) == (1, 2, 1)


def test_kinds_without_sides_have_no_ratings() -> None:
    study = make_annotation_study(slug="herbs", overlap=1)
    push_items(study, [{"key": "a", "attribute": "Has a cup.", "prompt": "Which tea?"}], "tests")
    annotate(make_annotator(study))
    assert "ratings" not in agreement_of(study, draws=5)["questions"][0]
