"""From a study's own labels by annotators to a third kind of rater, beside people and judges."""

from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from analysis.agreement.agreements import agreement_of
from analysis.models import TrainedModel
from analysis.stats.detection import Scored, measure_scores
from analysis.training import jobs
from analysis.training.evaluation import cases_of
from analysis.training.examples import TrainingError
from analysis.training.jobs import examples_for, train_next
from analysis.training.study_labels import groups_learned, study_examples, study_pairs, unseen
from analysis.training.tiers.encoders import rows_of
from surveys.models import Annotation, AnnotationItem, AuditEvent, Participant, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import label_all
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import TOPICS
from tests.factories import make_annotation_study, make_annotator, make_items
from tests.roles import as_account, make_roles
from tests.surveys.console.console_pages import lines_of
from tests.surveys.participation.threads import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]


def is_relevant(item: AnnotationItem) -> bool:
    """Whether the attribute shares the prompt's topic, the truth of these items."""
    return any(topic in item.payload["attribute"] and topic in item.payload["prompt"] for topic in TOPICS)


def labelled_study(prompts: int = 160, users: int = 0) -> Study:
    """Two attributes per prompt, three people who are nearly always right, and a judge who says yes too often.

    With `users` every other prompt is about these of one corpus, the rest about the same ones of another.
    """
    study = make_annotation_study(overlap=3, quota=10_000)
    for number in range(prompts):
        topic, other = TOPICS[number % 8], TOPICS[(number + 3) % 8]
        prompt = f"Which {topic} for week {number}?"
        about = {"cluster": f"user {number % users}", "corpus": ("real", "synthetic")[number % 2]} if users else {}
        make_items(study, 1, 2 * number, attribute=f"Likes {topic} a lot.", prompt=prompt, **about)
        make_items(study, 1, 2 * number + 1, attribute=f"Likes {other} a lot.", prompt=prompt, **about)
    people = [make_annotator(study, origin=Participant.Origin.IMPORTED) for _ in range(3)]
    rows = []
    for item in AnnotationItem.objects.filter(study=study).order_by("position"):
        for number, person in enumerate(people):
            right = (item.position + 7 * number) % 20 != 0  # each errs on different items
            said = is_relevant(item) == right
            rows.append(
                Annotation(
                    item=item, participant=person, version=study.current, revision=1, key=uuid4(),
                    labels={"relevance": "yes" if said else "no"},
                )
            )  # fmt: skip
        # The judge says yes to everything relevant and to half of the rest.
        judged = "yes" if is_relevant(item) or item.position % 4 < 2 else "no"
        record_judgement(item, "gpt same-1", {"relevance": judged})
    Annotation.objects.bulk_create(rows)
    return study


def test_labels_become_examples_with_shares_of_votes_and_who_gave_them() -> None:
    study = labelled_study(8)
    first = study_examples(study, "relevance")[0]
    assert first.label in (0, 1 / 3, 2 / 3, 1) and len(first.ratings) == 3
    by_prompt = {each.first: each.split for each in study_examples(study, "relevance")}
    assert all(by_prompt[each.first] == each.split for each in study_examples(study, "relevance"))
    assert len(study_pairs(study, "relevance")) == 16


def test_an_item_on_which_people_are_split_evenly_is_no_example() -> None:
    study = labelled_study(8)
    told = next(each for each in study_examples(study, "relevance") if each.label in (1 / 3, 2 / 3))
    item, person = AnnotationItem.objects.get(study=study, key=told.key), make_annotator(study, origin="imported")
    said = {"relevance": "yes" if told.label < 0.5 else "no"}
    Annotation.objects.create(
        item=item, participant=person, version=study.current, revision=1, key=uuid4(), labels=said
    )
    assert told.key not in {each.key for each in study_examples(study, "relevance")}
    assert [each.label for each in study_pairs(study, "relevance") if each.key == told.key] == [0.5]


@pytest.mark.slow
def test_a_model_labels_nothing_that_it_learned_from_and_beats_a_judge_who_says_yes_too_often() -> None:
    study = labelled_study()
    report = command("train", "teas", "--task", "relevance", "--name", "mine")
    assert any(warning.endswith("may say too much.") for warning in report["warnings"])  # and quotes nobody
    assert report["ceiling"]["n"] > 0 and report["ceiling"]["f1"] > 0.8
    labels = Annotation.objects.filter(judge__startswith="trained mine ")
    assert report["labelled"] == labels.count() == report["parts"]["test"]["n"]
    examples = {each.key: each.split for each in study_examples(study, "relevance")}
    assert {examples.get(key, "test") for key in labels.values_list("item__key", flat=True)} == {"test"}
    call_command("predict", "mine", "--study", "teas")  # once more: the same labels are no new revision
    assert set(labels.values_list("revision", flat=True)) == {1}
    question = agreement_of(study, draws=200)["questions"][0]
    (row,) = question["trained"]
    assert (row["judge"], row["measure"], row["beats"]) == ("gpt same-1", "f1", "yes")
    assert row["own"]["value"] > 0.9 and row["difference"]["ci"][0] > 0
    kinds = {rater["rater"]: rater["kind"] for rater in question["raters"]}
    assert kinds[row["rater"]] == "trained" and kinds["gpt same-1"] == "judge"
    groups = question["groups"]
    labels.delete()
    before = agreement_of(study, draws=200)["questions"][0]["groups"]
    for name in ("humans", "models", "all"):  # it is no judge and votes in no group
        assert groups[name]["mean_pairwise"] == before[name]["mean_pairwise"]


def test_a_model_that_could_not_label_is_kept_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    labelled_study(60)

    def fail(*given: Any, **how: Any) -> int:
        raise TrainingError("No endpoint answered.")

    monkeypatch.setattr(jobs, "label_study", fail)
    report = command("train", "teas", "--task", "relevance", "--name", "mine")
    model, said = TrainedModel.objects.get(), report["warnings"][-1]
    assert (model.state, report["labelled"], model.metrics["warnings"][-1]) == ("done", 0, said)
    assert said.endswith("(No endpoint answered.): manage.py predict mine --study teas.")
    monkeypatch.undo()


def test_attributes_of_one_prompt_and_user_are_ranked_in_one_list() -> None:
    """One relevant attribute of two, scored below the other: average precision 1/2 for one user, 1 for the other."""
    study = make_annotation_study(overlap=1)
    for number, user in enumerate(("ann", "ann", "bob", "bob")):
        make_items(study, 1, number, cluster=user)
    label_all(make_annotator(study), "ynyn")
    examples = study_examples(study, "relevance")
    cases = cases_of(examples)
    handed = [
        row["key"] for row in rows_of(examples, np.zeros(4), soft=False)
    ]  # to an encoder, which validates by them
    assert handed[0] == handed[1] != handed[2] == handed[3]
    found = measure_scores(cases, Scored(np.array([0.2, 0.8, 0.9, 0.1]), 0.5), ["map", "mrr"])
    assert (found["map"].value, found["mrr"].value) == (0.75, 0.75)


@pytest.mark.parametrize("split", ["", "users", "corpus:real"])
def test_however_the_examples_were_divided_a_model_labels_exactly_the_test_part(split: str) -> None:
    study = labelled_study(24, users=8)
    model = TrainedModel(task="relevance", study=study, settings={"split": split})
    examples = examples_for(model)
    labelled = {each.key for each in unseen(study, model, set(groups_learned(examples)))}
    assert labelled == {each.key for each in examples if each.split == "test"} != set()


def test_without_labels_there_is_nothing_to_learn() -> None:
    study = make_annotation_study()
    make_items(study, 4)
    with pytest.raises(CommandError, match="Nobody has labelled relevance items of teas"):
        command("train", "teas", "--task", "relevance", "--name", "mine")
    with pytest.raises(CommandError, match="Nobody has labelled attribute items of teas"):
        command("train", "teas", "--task", "verifier", "--name", "mine")


def test_one_source_is_named() -> None:
    with pytest.raises(CommandError, match="Name what to learn from"):
        command("train", "--task", "verifier", "--name", "mine")


def test_items_of_the_other_kinds_are_read_as_pairs() -> None:
    attributes = make_annotation_study(slug="facts", kind="attribute")
    (item, *_) = make_items(attributes, 2)
    pair = study_pairs(attributes, "verifier")[0]
    assert pair.second == item.payload["attribute"] and pair.first == item.payload["evidence"][0]["quote"]
    sides = make_annotation_study(slug="sides", kind="preference")
    (item, *_) = make_items(sides, 1)
    pairs = study_pairs(sides, "reward")
    assert [pair.part for pair in pairs] == [part["id"] for part in item.payload["attributes"]]
    assert (pairs[0].second, pairs[0].third) == (item.payload["personalised"], item.payload["generic"])


def test_an_owner_starts_a_training_on_the_labels_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    study, left = labelled_study(48), []
    make_roles(study)
    monkeypatch.setattr(train_next, "delay", lambda: left.append(1))
    here, form = "/console/teas/models/", {"name": "ours", "task": "relevance", "tier": "frozen"}
    assert "Train on this study" not in lines_of(as_account("researcher").get(here))
    assert as_account("researcher").post(here, form).status_code == 403
    owner = as_account("owner")
    assert 'value="reward"' not in owner.get(here).content.decode()
    for wrong in ({"name": "a b"}, {"task": "reward"}):  # an invalid name, and a task that does not fit this study
        page = owner.post(here, form | wrong)
        assert page.status_code == 422 and "Please look at this again." in lines_of(page)
    assert not TrainedModel.objects.exists()
    assert owner.post(here, form)["Location"] == f"{here}ours/"
    found = TrainedModel.objects.get()
    assert (found.study, found.state, found.started_by) == (study, "waiting", "owner")
    event = AuditEvent.objects.filter(study=study).latest("number")
    assert (event.action, event.subject) == ("training started", "ours")
    assert "already; choose another name" in lines_of(owner.post(here, form))


@pytest.mark.django_db(transaction=True)
def test_of_two_who_begin_a_training_under_one_name_at_once_the_other_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_roles(labelled_study(48))
    monkeypatch.setattr(train_next, "delay", lambda: None)
    here, form = "/console/teas/models/", {"name": "ours", "task": "relevance", "tier": "frozen"}
    owners = [as_account("owner") for _ in range(2)]
    pages = at_once([partial(owner.post, here, form) for owner in owners])
    assert sorted(page.status_code for page in pages) == [302, 422]
    assert ["already; choose another name" in lines_of(page) for page in pages if page.status_code == 422] == [True]
    assert TrainedModel.objects.count() == 1
