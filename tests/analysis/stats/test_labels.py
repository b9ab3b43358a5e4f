"""Labels in long form: what is refused, the views of Maybe, and the majority with its ties."""

import numpy as np
import pytest

from analysis.stats.agreement.labels import (
    TIE,
    UNVOTED,
    Labels,
    Scale,
    choose_voters,
    count_votes,
    find_majority,
    read_maybe,
    recode,
)
from tests.analysis.stats.label_factories import make_labels

TABLE = [[0, 0, 1], [0, 1, 2], [None, None, None], [2, None, None], [1, 2, None]]


def build(items, raters, values, n_items=2, n_raters=2, n_labels=2, clusters=None, is_model=(False, False)):
    columns = (np.array(column, dtype=np.int32) for column in (items, raters, values))
    return Labels(*columns, n_items, n_raters, n_labels, clusters, np.array(is_model, dtype=np.bool_))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"items": [0, 2]}, "Row 1 has item 2; there are 2, counted from 0."),
        ({"raters": [-1, 1]}, "Row 0 has rater -1; there are 2, counted from 0."),
        ({"values": [0, 5]}, "Row 1 has label 5; there are 2, counted from 0."),
        ({"raters": [1, 1]}, "Rater 1 labelled item 0 2 times; one label per item and rater is allowed."),
        ({"values": [0]}, "Items, raters and values differ in length: 2, 2 and 1."),
        ({"clusters": np.zeros(3, dtype=np.int32)}, "There are 2 items and 3 clusters; each item belongs to one."),
        ({"is_model": [True]}, "There are 2 raters and 1 entries that say which are models."),
    ],
)
def test_labels_that_do_not_fit_are_refused_with_the_row(changes, problem):
    with pytest.raises(ValueError) as refused:
        build(**({"items": [0, 0], "raters": [0, 1], "values": [0, 1]} | changes))
    assert str(refused.value) == problem


@pytest.mark.parametrize(("ordered", "numbers"), [(False, (1, 2)), (True, (2, 1)), (True, (1, 1))])
def test_numbers_that_are_no_rising_scale_are_refused(ordered, numbers):
    with pytest.raises(ValueError, match="rise"):
        Scale(ordered, numbers)


def test_recoding_to_nothing_drops_the_label():
    labels = recode(make_labels([[0, 1], [2, 2]]), [0, -1, 1])
    assert (labels.items.tolist(), labels.values.tolist(), labels.n_labels) == ([0, 1, 1], [0, 1, 1], 2)


def test_maybe_is_read_in_four_ways():
    views = read_maybe(make_labels([[0, 1, 2]]))
    assert {name: view.labels.values.tolist() for name, view in views.items()} == {
        "nominal": [0, 1, 2],
        "ordinal": [0, 1, 2],
        "maybe_is_no": [0, 0, 1],
        "maybe_is_yes": [0, 1, 1],
    }
    assert [name for name, view in views.items() if view.scale.ordered] == ["ordinal"]
    assert [view.labels.n_labels for view in views.values()] == [3, 3, 2, 2]


def test_majority_keeps_ties_as_ties():
    assert find_majority(count_votes(make_labels(TABLE))).tolist() == [0, TIE, UNVOTED, 2, TIE]


def test_votes_of_some_raters_leave_the_others_out():
    votes = count_votes(make_labels(TABLE), np.array([False, True, True]))
    assert find_majority(votes).tolist() == [TIE, TIE, UNVOTED, UNVOTED, 2]


def test_people_make_the_majority_when_any_gave_a_label_and_otherwise_models_among_themselves():
    assert choose_voters(make_labels([[0, 1, 1]], models=[1, 2])).tolist() == [True, False, False]
    assert choose_voters(make_labels([[None, 1, 1]], models=[1, 2])).tolist() == [True, True, True]
