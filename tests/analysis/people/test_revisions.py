"""A model revises doubted attributes, which are then judged again and compared with what they were before."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.agreement.agreements import agreement_of
from analysis.agreement.annotations import LabelChoice, read_choice
from analysis.models import Task
from analysis.people.stages.judged import push_refined
from analysis.training.study_labels import study_examples
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.labels import record_judgement
from surveys.studies.lifecycle import close
from tests.analysis.people.people_samples import ask, command, judge_items, judged
from tests.analysis.runs.servers import make_fake
from tests.factories import make_account, make_annotation_study
from tests.lasting import copied_world
from tests.roles import as_account
from tests.surveys.console.console_pages import log_in
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = "ann@example.org"
# Of three people 1, 0, 2 and 3 say yes: the doubted items are those with 1, 0 and 2.
SAID = {"item-0": "nny", "item-1": "nmn", "item-2": "yym", "item-3": "yyy"}
AFTER = {"item-0": "yyy", "item-1": "yyn"}


@copied_world
def study() -> Study:
    """Two of the three doubted attributes were revised; the third was withdrawn."""
    make_fake()
    study = judged("attribute", "quality", SAID, corpus="real", tags={"generator": "old", "sensitive": "health"})
    ask(study, "refine")
    row = Task.objects.get(annotation_item__key="item-2")
    row.values = {"action": "withdraw", "attribute": "", "reasoning": ""}
    row.save()
    first = Task.objects.get(annotation_item__key="item-0")
    first.values["attribute"] = f"Prays daily, says {MAIL}."
    first.save()
    return study


def revised(study: Study) -> dict[str, AnnotationItem]:
    return {
        item.payload["before"]: item for item in AnnotationItem.objects.filter(study=study, payload__has_key="before")
    }


def push(study: Study) -> dict[str, Any]:
    return command("push_refined", study.slug)


def judge_again(study: Study) -> None:
    judge_items(study, "quality", {item.key: AFTER[before] for before, item in revised(study).items()})


def test_revisions_are_items_that_carry_what_they_revise(study: Study) -> None:
    report = push(study)
    assert {name: report[name] for name in ("items", "slots", "asked", "withdrawn", "unchanged", "personal")} == {
        **{"items": 2, "slots": 6, "asked": 3, "withdrawn": 1, "unchanged": 0, "personal": 1}
    }
    found = revised(study)
    assert found.keys() == {"item-0", "item-1"}
    new, old = found["item-0"], AnnotationItem.objects.get(key="item-0")
    assert new.payload["attribute"] == "Prays daily, says [e-mail address]." and MAIL not in json.dumps(new.payload)
    assert (new.payload["evidence"], new.history, new.cluster, new.corpus) == (
        *(old.payload["evidence"], old.history, old.cluster, old.corpus),
    )
    assert new.tags == {"generator": "scripted refine-1 (simulated)", "sensitive": "religion"}
    assert found["item-1"].tags == {"generator": "scripted refine-1 (simulated)"}


def test_pushing_again_adds_nothing_and_two_at_once_push_once(study: Study) -> None:
    reports = at_once([lambda: push_refined(study)] * 2)
    assert sorted((report["items"], report["already_there"]) for report in reports) == [(0, 2), (2, 0)]
    assert push(study)["already_there"] == 2


def test_revision_in_the_same_words_is_no_item_and_other_kinds_are_refused(study: Study) -> None:
    old = AnnotationItem.objects.get(key="item-1").payload["attribute"]
    row = Task.objects.get(annotation_item__key="item-1")
    row.values["attribute"] = f" {old} "
    row.save()
    report = push(study)
    assert (report["items"], report["unchanged"]) == (1, 1)
    make_annotation_study(kind="relevance", slug="pairs")
    with pytest.raises(CommandError, match="not a study of annotators with the kind `attribute`"):
        command("push_refined", "pairs")


def test_acceptance_is_paired_by_attribute(study: Study) -> None:
    push(study)
    waiting = agreement_of(study)["questions"][0]["revisions"]
    assert [(row["revised"], row["withdrawn"], row["compared"]) for row in waiting] == [(2, 1, 0)]
    assert waiting[0]["accepted"]["change"]["why"] == "nothing was labelled before and after"
    judge_again(study)
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini", {"quality": "no", "uncomfortable": "no"})  # a judge accepts for nobody
    (row,) = agreement_of(study)["questions"][0]["revisions"]
    assert (row["generator"], row["compared"]) == ("scripted refine-1 (simulated)", 2)
    values = {
        name: [row[name][when]["value"] for when in ("before", "after", "change")] for name in ("accepted", "majority")
    }
    # (1/3 + 0) / 2 before, (1 + 2/3) / 2 after; most accept neither before and both after.
    assert values["accepted"] == pytest.approx([1 / 6, 5 / 6, 2 / 3])
    assert values["majority"] == pytest.approx([0, 1, 1])
    assert row["accepted"]["change"]["n"] == 2 and row["unit"] == "user" and row["units"] == 1
    assert row["accepted"]["change"]["ci"] is None and "1 independent unit" in row["accepted"]["change"]["why"]
    revisions = LabelChoice(tag="generator:scripted refine-1 (simulated)", revised="only")
    tagged = agreement_of(study, revisions)["questions"][0]
    assert tagged["items"] == 2 and tagged["revisions"][0]["accepted"] == row["accepted"]
    assert "revisions" not in agreement_of(study, LabelChoice(corpus="other"))["questions"][0]
    page = log_in(study).get(f"/console/{study.slug}/agreement/").content.decode()
    assert "scripted refine-1 (simulated): 2 revised, 1 withdrawn" in " ".join(page.split())
    out = StringIO()
    call_command("agreement", study.slug, stdout=out)
    assert "Attributes that most accept: Before 0 %" in " ".join(out.getvalue().split())


def test_revised_statements_are_a_group_of_their_own(study: Study) -> None:
    before = agreement_of(study)["questions"][0]
    learned = study_examples(study, "verifier")
    push(study)
    judge_again(study)
    after = agreement_of(study)["questions"][0]
    for name in ("items", "labels", "alpha", "raw", "prevalence", "majority", "mean_pairwise", "pairs", "by_corpus"):
        assert after[name] == before[name], name
    assert (after["items"], study_examples(study, "verifier")) == (4, learned)
    shown = {row["statement"]: (row["items"], row["n"], row["shares"]["yes"]) for row in after["by_statement"]}
    assert shown == {"extracted": (4, 12, pytest.approx(6 / 12)), "revised": (2, 6, pytest.approx(5 / 6))}
    whole, only = (
        agreement_of(study, read_choice({"revised": which}))["questions"][0]["items"] for which in ("with", "only")
    )
    assert (whole, only, agreement_of(study, read_choice({"revised": "?"}))["questions"][0]["items"]) == (6, 2, 4)
    page = log_in(study).get(f"/console/{study.slug}/agreement/").content.decode()
    assert "As extracted and revised" in page and 'name="revised"' in page
    out = StringIO()
    call_command("agreement", study.slug, stdout=out)
    assert "revised: 6 labels on 2 items" in out.getvalue()


def test_mistakes_of_revisions_are_no_mistakes_of_extraction(study: Study) -> None:
    push(study)
    judge_items(study, "quality", {item.key: "nnn" for item in revised(study).values()})
    make_annotation_study(kind="error", slug="errors")
    assert command("push_rejected", study.slug, "errors")["items"] == 2
    assert command("push_rejected", study.slug, "errors", "--revised")["items"] == 2


def test_a_revision_is_refined_once_more_and_then_only_when_asked(study: Study) -> None:
    """Annotators doubt everything: a revision is revised once more, and there it ends."""
    for _ in range(2):
        push(study)
        known = {item.key for item in revised(study).values()}
        judge_items(study, "quality", {key: "nnn" for key in known if not labelled(key)})
        ask(study, "refine")
    depth = {"item-0": 0, "item-1": 0, "item-2": 0}
    for before, item in sorted(revised(study).items(), key=lambda entry: entry[1].position):
        depth[item.key] = depth[before] + 1
    assert sorted(depth.values()) == [0, 0, 0, 1, 1, 2]
    refined = Task.objects.filter(run__instruction="refine-1").values_list("annotation_item__key", flat=True)
    assert {depth[key] for key in refined} == {0, 1}
    assert ask(study, "refine", "--again")["planned"] == len(refined) + 1


def labelled(key: str) -> bool:
    return Annotation.objects.filter(item__key=key).exists()


def test_closed_study_takes_revisions_for_judges_and_says_so(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    close(study, "tests")
    make_account("ada", study, "researcher")
    says = "closed: judges can label its revisions, but nobody new comes to do so."
    assert says in as_account("ada").get(reverse("people:items", args=[study.slug])).text
    call_command("push_refined", study.slug)
    assert f"{study.slug} is {says}" in capsys.readouterr().err
    assert command("judge", study.slug, "--endpoint", "scripted")["labelled"] == 6  # two of them revisions
