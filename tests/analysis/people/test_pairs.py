"""Candidates go to annotators of relevance as pairs of prompt and user: enough of them, few users per prompt, once."""

import json
from collections import Counter
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.models import Attribute, Corpus, CorpusUser, Task
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.pushing import cluster_of
from analysis.people.stages.pairs import name_prompt, push_people
from analysis.people.stages.portions import Portion
from surveys.models import AnnotationItem, Slot, Study
from surveys.studies.lifecycle import close
from tests.analysis.people.people_samples import command, make_person, people
from tests.analysis.runs.baseline_factories import make_corpus, use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import annotate, make_annotation_study, make_annotator, make_study
from tests.lasting import copied_world
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
USERS = ("ann", "bob", "cleo", "dan", "eve", "fay")
MAIL = "ann@example.org"


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)


@copied_world
def asked() -> Study:
    """Six users: two attributes of each share a word with every prompt except the last, with which only one does."""
    make_fake()
    study, corpus = make_study(), make_corpus()
    first, *_, last = texts_of(study)
    for key in USERS:
        make_person(key, [[f"Hello from {key}."]], corpus)
        texts = [f"Zebra. {' '.join(texts_of(study)[:-1])} {MAIL}", f"Qux vim fjord: {first}", f"Jumps high: {last}"]
        keep_attributes(corpus, [NewAttribute(key, text, 0.9, ["Hello"]) for text in texts])
    merge_nothing()
    people("corpus", "ask", "candidates", "--endpoint", "scripted", "--prompts", study.slug)
    return study


def texts_of(study: Study) -> list[str]:
    return list(study.current.prompts.order_by("position").values_list("text", flat=True))


def merge_nothing() -> None:
    for row in Attribute.objects.all():
        Attribute.objects.filter(pk=row.pk).update(merged_into=row.pk, cluster_size=1, cluster_confidence=0.9)


def truth() -> dict[tuple[str, str], set[str]]:
    """Candidates by prompt and user, for pairs with at least two."""
    rows = Task.objects.filter(values__isnull=False).select_related("user")
    found = {(row.payload["prompt"], row.user.key): set(map(str, row.values["candidates"])) for row in rows}
    return {pair: ids for pair, ids in found.items() if len(ids) >= 2}


def shown() -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for item in AnnotationItem.objects.all():
        found.setdefault((item.payload["prompt"], item.cluster), set()).add(item.source)
    return found


def make_pairs(slug: str = "pairs") -> Study:
    return make_annotation_study(kind="relevance", slug=slug)


def test_pairs_of_enough_candidates_are_drawn_with_all_of_these(asked: Study) -> None:
    study, right = make_pairs(), truth()
    report = people("corpus", "push", "--study", "pairs")
    found, prompts = shown(), {prompt for prompt, _ in right}
    assert 0 < len(prompts) < len(texts_of(asked))
    assert {pair: right[pair] for pair in found} == found
    said = AnnotationItem.objects.values_list("payload__attribute", flat=True)
    assert Counter(text.split()[0] for text in said) == {"Zebra.": 4, "Qux": 4}
    assert Counter(prompt for prompt, _ in found) == dict.fromkeys(prompts, 4)
    assert report["pairs"] == 4 * len(prompts) and report["not_drawn"] == 2 * len(prompts)
    assert report["asked"] == 6 * len(texts_of(asked)) and report["few"] == report["asked"] - len(right)
    assert report["items"] == sum(map(len, found.values())) == AnnotationItem.objects.count()
    assert report["slots"] == 3 * report["items"]
    assert (report["prompts"], report["users"]) == (len(prompts), len({user for _, user in found}))
    # Items say where they come from and name nobody.
    item = AnnotationItem.objects.filter(payload__attribute__startswith="Zebra").first()
    assert MAIL not in json.dumps(item.payload) and "[e-mail address]" in item.payload["attribute"]
    assert report["personal"] == AnnotationItem.objects.filter(payload__attribute__startswith="Zebra").count()
    row = Attribute.objects.get(pk=item.source)
    assert (item.kind, item.corpus, item.cluster) == ("relevance", "corpus", row.user.key)
    assert item.tags == {
        **{"corpus": "corpus", "user": row.user.key, "prompt": name_prompt(item.payload["prompt"])},
        "candidates by": "scripted candidates-1 (simulated)",
    }
    assert annotate(make_annotator(study)) is not None


def test_seed_decides_who_is_drawn_and_in_which_order(asked: Study) -> None:
    for number, seed in enumerate("001"):
        make_pairs(f"pairs-{number}")
        people("corpus", "push", "--study", f"pairs-{number}", "--seed", seed)
    keys = [list(AnnotationItem.objects.filter(study__slug=f"pairs-{n}").values_list("key", flat=True)) for n in "012"]
    assert keys[0] == keys[1] and set(keys[0]) != set(keys[2])
    assert keys[0] != sorted(keys[0])


def test_pushing_again_adds_nobody_to_a_prompt_that_has_its_users(asked: Study) -> None:
    make_pairs()
    first = people("corpus", "push", "--study", "pairs", "--users", "3")
    again = people("corpus", "push", "--study", "pairs", "--users", "3", "--seed", "7")
    assert (again["items"], again["already_there"]) == (0, first["items"])
    more = people("corpus", "push", "--study", "pairs")
    assert more["pairs"] == more["prompts"] == first["prompts"]
    assert set(Counter(prompt for prompt, _ in shown()).values()) == {4}


def test_two_who_push_at_once_push_once(asked: Study) -> None:
    study, corpus = make_pairs(), Corpus.objects.get()
    reports = at_once([lambda seed=seed: push_people(corpus, study, portion=Portion(seed=seed)) for seed in (1, 2)])
    assert sorted(report["items"] > 0 for report in reports) == [False, True]
    assert set(Counter(prompt for prompt, _ in shown()).values()) == {4}
    assert Slot.objects.count() == 3 * AnnotationItem.objects.count()


def test_what_changed_since_is_left_out_and_counted(asked: Study) -> None:
    make_pairs()
    Attribute.objects.filter(user__key="ann", text__startswith="Zebra").delete()
    CorpusUser.objects.filter(key="bob").update(left_out_by="activity")
    before = {pair for pair in truth() if pair[1] not in ("ann", "bob")}
    report = people("corpus", "push", "--study", "pairs", "--users", "9")
    assert set(shown()) == before
    assert report["gone"] > 0 and report["not_studied"] == len(texts_of(asked)) and report["not_drawn"] == 0


def test_candidates_are_of_one_model_and_of_the_prompts_that_are_named(asked: Study) -> None:
    make_pairs()
    make_fake(name="other")
    people("corpus", "ask", "candidates", "--endpoint", "other", "--prompts", asked.slug)
    with pytest.raises(CommandError, match="come from other, scripted: choose one of them"):
        people("corpus", "push", "--study", "pairs")
    assert people("corpus", "push", "--study", "pairs", "--by", "other")["by"].startswith("other")
    nothing = make_annotation_study(kind="attribute", slug="nothing")
    with pytest.raises(CommandError, match="corpus has no candidates of these prompts.*Ask for some: Corpora → corpus"):
        people("corpus", "push", "--study", "pairs", "--prompts", nothing.slug)
    with pytest.raises(CommandError, match="1 user or more"):
        people("corpus", "push", "--study", "pairs", "--users", "0")


def test_person_is_erased_from_pairs_too(asked: Study) -> None:
    study = make_pairs()
    people("corpus", "push", "--study", "pairs", "--users", "6")
    person = make_annotator(study)
    annotate(person)
    report: dict[str, Any] = command("erase_user", "corpus", "ann")
    assert report["items"] > 0 and not AnnotationItem.objects.filter(cluster=cluster_of("ann")).exists()
    assert not Task.objects.filter(user__key="ann").exists()


def test_closed_study_takes_no_pairs_and_no_attributes(asked: Study) -> None:
    for study in (make_pairs(), make_annotation_study(kind="attribute", slug="profiles")):
        close(study, "tests")
        with pytest.raises(CommandError, match=f"{study.slug} is closed for good"):
            people("corpus", "push", "--study", study.slug)
