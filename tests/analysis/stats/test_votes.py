"""The majority with its ties, and soft labels."""

import numpy as np

from analysis.stats.agreement.votes import TIE, UNVOTED, choose_voters, count_votes, find_majority, soften
from tests.analysis.stats.label_factories import make_labels

TABLE = [[0, 0, 1], [0, 1, 2], [None, None, None], [2, None, None], [1, 2, None]]


def test_majority_keeps_ties_as_ties():
    assert find_majority(count_votes(make_labels(TABLE))).tolist() == [0, TIE, UNVOTED, 2, TIE]


def test_votes_of_some_raters_leave_the_others_out():
    votes = count_votes(make_labels(TABLE), np.array([False, True, True]))
    assert find_majority(votes).tolist() == [TIE, TIE, UNVOTED, UNVOTED, 2]


def test_soft_labels_are_shares_of_the_votes_of_items_that_have_any():
    items, shares = soften(count_votes(make_labels(TABLE)))
    assert items.tolist() == [0, 1, 3, 4]
    np.testing.assert_allclose(shares, [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1], [0, 0.5, 0.5]])


def test_people_make_the_majority_when_any_gave_a_label():
    assert choose_voters(make_labels([[0, 1, 1]], models=[1, 2])).tolist() == [True, False, False]


def test_models_make_the_majority_among_themselves():
    assert choose_voters(make_labels([[None, 1, 1]], models=[1, 2])).tolist() == [True, True, True]
