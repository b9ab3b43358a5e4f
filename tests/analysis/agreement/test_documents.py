"""The JSON of an agreement: the documented names, and nulls with their reasons."""

import json

import numpy as np

from analysis.agreement.documents import question_document
from analysis.stats.agreement.agreement import measure_agreement, rows_of
from analysis.stats.agreement.labels import NOMINAL, Scale
from tests.analysis.stats.label_factories import draw_labels, make_labels

SHARES = {"prevalence", "distribution"}  # the reason is one level up, since labels may have any name


def shape(labels, names, scale=NOMINAL):
    agreement = measure_agreement(labels, np.random.default_rng(0), scale, draws=60)
    raters = [f"r{code}" for code in range(labels.n_raters)]
    return json.loads(
        json.dumps(question_document(rows_of(agreement, names, raters) | {"unit": "item"}), allow_nan=False)
    )


def list_nulls(node, place=""):
    """The path of every null without a reason beside it or, for an interval, beside its group."""
    if isinstance(node, list):
        return [found for i, each in enumerate(node) for found in list_nulls(each, f"{place}/{i}")]
    if not isinstance(node, dict):
        return []
    missing = [f"{place}/{name}" for name, each in node.items() if each is None and name not in node.get("why", {})]
    return missing + [found for name, each in node.items() for found in list_nulls(each, f"{place}/{name}")]


def test_shape_has_the_promised_names():
    found = shape(draw_labels(1, models=[3]), ["no", "maybe", "yes"], Scale(True, (1, 2, 3)))
    promised = {"items", "annotators", "labels", "alpha", "fleiss", "ac1", "raw", "prevalence", "mean_pairwise"}
    assert promised | {"pairs", "majority", "raters", "ci"} <= found.keys()
    assert set(found["alpha"]) == {"nominal", "ordinal", "interval"}
    assert {"kappa", "kappa_linear", "kappa_quadratic", "spearman"} <= found["mean_pairwise"].keys()
    assert {"a", "b", "n", "kappa", "kappa_linear", "kappa_quadratic", "spearman"} <= found["pairs"][0].keys()
    assert {"rater", "is_model", "n", "distribution", "accuracy", "precision", "recall", "f1"} <= found["raters"][
        0
    ].keys()
    assert set(found["prevalence"]) == set(found["raters"][0]["distribution"]) == {"no", "maybe", "yes"}
    assert list(found["majority"]) == ["no", "maybe", "yes", "tie"]
    assert len(found["ci"]["alpha_nominal"]) == len(found["ci"]["kappa"]) == len(found["ci"]["prevalence"]["no"]) == 2


def test_head_numbers_are_those_of_people_where_models_label_too():
    found = shape(draw_labels(1, models=[3]), ["a", "b", "c"])
    assert found["group"] == "humans"
    assert found["alpha"] == found["groups"]["humans"]["alpha"] != found["groups"]["all"]["alpha"]
    assert found["voters"] == ["r0", "r1", "r2"]
    assert set(found["groups"]) == {"all", "humans", "models", "across"}


def test_head_numbers_are_those_of_all_where_there_is_one_kind():
    assert shape(draw_labels(1), ["a", "b", "c"])["group"] == "all"


def test_every_null_has_a_reason():
    for labels in (make_labels([], 2), make_labels([[0, None, 1], [None, 0, 0]], 2, models=[2])):
        missing = [place for place in list_nulls(shape(labels, ["no", "yes"])) if place.split("/")[-2] not in SHARES]
        assert missing == []


def test_shares_hold_labels_only_and_their_reason_stands_above():
    found = shape(make_labels([], 2), ["why", "ci"])
    assert found["prevalence"] == {"why": None, "ci": None}
    assert found["why"]["prevalence"] == found["ci"]["why"]["prevalence"] == "there are no labels"
