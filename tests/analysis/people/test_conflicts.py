"""Contradicting statements are kept apart, make nothing surer and are shown; the published rates hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from analysis.models import Attribute, CorpusUser
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.conflicts import KINDS, NEGATION, NUMBERS, OPPOSITES, conflict_of
from analysis.people.corpora.embeddings import Embedder
from analysis.people.merging import merge_attributes
from analysis.stats.diversity import keep_apart
from benchmarks import conflicts
from surveys.models import Study
from tests.analysis.runs.baseline_factories import SHARED, make_corpus, real_data
from tests.factories import make_study
from tests.roles import as_account, make_roles


def embed_alike(texts: list[str]) -> np.ndarray:
    """Give all texts the same vector."""
    vectors = np.zeros((len(texts), 384), "float32")
    vectors[:, 0] = 1.0
    return vectors


ALIKE = Embedder("alike", embed_alike)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("The user is 34 years old.", "The user is thirty-five years old.", NUMBERS),
        ("The user is 34.", "The user is aged 27.", NUMBERS),
        ("Has two dogs.", "Has 3 large dogs.", NUMBERS),
        ("Runs 5 times a week.", "Runs twelve times a week.", NUMBERS),
        ("Was born in 1985.", "Was born in 1990.", NUMBERS),
        ("Eats meat.", "Does not eat meat.", NEGATION),
        ("Likes football.", "Hates football.", NEGATION),
        ("No longer works as a nurse.", "Works as a nurse.", NEGATION),
        ("Is vegan.", "Is vegetarian.", OPPOSITES),
        ("Is vegetarian.", "Eats meat.", OPPOSITES),
        ("Prefers short answers.", "Prefers detailed answers.", OPPOSITES),
        ("Works part-time.", "Works full time.", OPPOSITES),
        ("Has two dogs.", "Has 2 dogs.", ""),
        ("Has two cats.", "Has three dogs.", ""),
        ("Has dogs.", "Has three dogs.", ""),
        ("Has three cats and two dogs.", "Has two dogs.", ""),
        ("Dislikes football.", "Does not like football.", ""),
        ("Likes to cook, but is not good at it.", "Loves to cook.", ""),
        ("Does not eat meat.", "Is a vegetarian.", ""),
        ("Is not vegan.", "Is vegetarian.", ""),
        ("Likes tea.", "Loves tea.", ""),
    ],
)
def test_what_contradicts_what(one: str, other: str, kind: str) -> None:
    assert (conflict_of(one, other), conflict_of(other, one)) == (kind, kind)


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_contradicts_itself_and_either_way_is_the_same(one: str, other: str) -> None:
    assert not conflict_of(one, one)
    assert bool(conflict_of(one, other)) == bool(conflict_of(other, one))


@given(st.integers(2, 12).flatmap(lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
def test_parts_have_no_conflict_and_hold_everything_once(flags: list[bool]) -> None:
    n = int(len(flags) ** 0.5)
    matrix = np.array(flags[: n * n]).reshape(n, n)
    matrix = np.triu(matrix, 1) | np.triu(matrix, 1).T
    parts = keep_apart(list(range(n)), matrix, embed_alike(["x"] * n), 0.7)
    assert sorted(row for part in parts for row in part) == list(range(n))
    assert not any(matrix[np.ix_(part, part)].any() for part in parts)
    assert len(parts) == 1 or matrix.any()


def merge(*texts: str) -> dict[str, Any]:
    """Merge statements of one person, each said in another conversation."""
    corpus = make_corpus()
    keep_attributes(corpus, [NewAttribute("ann", text, 0.5, (), str(n)) for n, text in enumerate(texts)])
    return merge_attributes(corpus, ALIKE)


@pytest.mark.django_db
def test_seven_ages_stay_seven_and_none_is_surer() -> None:
    ages = [f"The user is {age} years old." for age in range(30, 37)]
    report = merge(*ages, ages[0].replace("30", "thirty"))
    assert (report["merged"], report["conflicting_users"]) == (7, 1)
    assert report["conflicts"] == dict.fromkeys(KINDS, 0) | {NUMBERS: 21}
    heads = Attribute.objects.filter(cluster_size__isnull=False).order_by("id")
    # Thirty is said in two conversations, in either spelling; the others in one each.
    assert list(heads.values_list("cluster_size", "cluster_confidence")) == [(2, 0.75), *[(1, 0.5)] * 6]


@pytest.mark.django_db
def test_what_says_less_goes_with_what_is_nearest() -> None:
    assert merge("Has two dogs.", "Has three dogs.", "Has dogs.", "Has dogs, says Ann.")["merged"] == 2


@pytest.mark.django_db
def test_a_persons_page_shows_what_contradicts_each_other(study: Study) -> None:
    merge("Is vegan.", "Is vegetarian.", "Likes tea.")
    address = reverse("people:person", args=[study.slug, "corpus", CorpusUser.objects.get().pk])
    words = " ".join(as_account("researcher").get(address).content.decode().split())
    assert "1 pair of near attributes contradicts each other" in words and words.count(">contradicts<") == 2


@pytest.fixture
def study() -> Study:
    study = make_study("draft")
    make_roles(study)
    return study


def test_published_rates_are_those_of_the_rule() -> None:
    real_data("personas/personachat_sentences.txt")
    real_data("training/relevance_ikat.jsonl")
    pairs = conflicts.read_pairs(SHARED / "data")
    assert len(pairs) == 280
    found = conflicts.measure(pairs)
    assert found["no conflict, kept apart"]["value"] < 0.05 < 0.7 < found["number, kept apart"]["value"]
    page = (Path(conflicts.__file__).parent / "rates" / "conflicts.md").read_text()
    assert conflicts.as_table(found) in page
