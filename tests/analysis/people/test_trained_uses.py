"""Uses of trained models: a verifier chooses what is revised, a relevance model the attributes for responses."""

from typing import Any

import pytest
from django.core.management import CommandError

from analysis.agreement.agreements import agreement_of
from analysis.models import CorpusUser, Task
from analysis.runs.asking.registry import TASKS
from surveys.annotation.items import push_items
from surveys.models import AnnotationItem, Study
from surveys.studies.labels import record_judgement
from tests.analysis.people.people_samples import as_program, ask, command, judge_items, judged, make_person, people
from tests.analysis.runs.baseline_factories import use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, tasks_of
from tests.lasting import copied_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db(transaction=True)
VERSION = "1a2b3c4d" * 8
VERIFIER = f"trained mine {VERSION[:8]}"


def label(study: Study, said: dict[str, str], question: str, rater: str = VERIFIER, **detail: Any) -> None:
    """Keep labels as `predict --study` keeps those of a trained model."""
    for item in AnnotationItem.objects.filter(study=study, key__in=said):
        kept = {"model": "mine", "version": VERSION, **detail}
        record_judgement(item, rater, {question: said[item.key]}, detail=kept, only=(question,))


# --- a verifier chooses what is revised


@copied_world
def profiles() -> Study:
    """People doubt the first attribute; the verifier flags the second and the third, which no person labelled."""
    make_fake()
    study = judged("attribute", "quality", {"item-0": "nny", "item-1": "yyy"}, corpus="real")
    make_items(study, 2, start=2, cluster="ann", corpus="real")
    label(study, {"item-0": "yes", "item-1": "no", "item-2": "no", "item-3": "yes"}, "quality")
    return study


def asked_about(name: str = "refine") -> set[str]:
    return set(Task.objects.filter(run__instruction=f"{name}-1").values_list("annotation_item__key", flat=True))


def test_what_a_verifier_flags_is_revised_instead_of_what_people_doubt(profiles: Study) -> None:
    report = ask(profiles, "refine", "--flagged-by", "mine")
    assert asked_about() == {"item-1", "item-2"}
    assert report["chosen_by"] == [{"rater": VERIFIER, "version": VERSION}]
    task = Task.objects.get(annotation_item__key="item-2")
    assert task.payload == {"flagged_by": report["chosen_by"], "doubted": False}
    # The tags of revisions name it, as do their numbers and the page.
    command("push_refined", profiles.slug)
    revised = AnnotationItem.objects.filter(payload__has_key="before")
    assert {item.tags["flagged by"] for item in revised} == {VERIFIER}
    judge_items(profiles, "quality", {}, unsaid="yyy")
    (row,) = agreement_of(profiles)["questions"][0]["revisions"]
    assert row["flagged_by"] == [{"rater": VERIFIER, "version": VERSION, "n": 2}]
    page = " ".join(lines_of(log_in(profiles).get(f"/console/{profiles.slug}/agreement/")).split())
    assert f"flagged by {VERIFIER} (2)" in page


def test_with_a_rule_both_choose_and_each_is_named(profiles: Study) -> None:
    record_judgement(
        AnnotationItem.objects.get(key="item-3"), "judge judge-3", {"quality": "maybe", "uncomfortable": "no"}
    )
    report = ask(profiles, "refine", "--flagged-by", "mine", "judge judge-3", "--rule", "one")
    assert asked_about() == {"item-0", "item-1", "item-2", "item-3"}
    assert report["chosen_by"][1] == {"rater": "judge judge-3", "version": ""}
    payloads = dict(Task.objects.values_list("annotation_item__key", "payload"))
    assert payloads["item-0"] == {}  # as asked before there were verifiers
    assert payloads["item-3"]["flagged_by"] == [report["chosen_by"][1]]
    said = {
        task.annotation_item.key: TASKS["refine"].write(task)[0]["content"]
        for task in Task.objects.select_related("annotation_item")
    }
    assert "People who read" in said["item-0"] and "People who read" not in said["item-1"]
    assert "Another model does not find" in said["item-1"]


def test_raters_and_options_that_do_not_fit_are_one_sentence(profiles: Study) -> None:
    with pytest.raises(CommandError, match=f"No model called other has labelled items of attributes.*{VERIFIER}"):
        ask(profiles, "refine", "--flagged-by", "other")
    with pytest.raises(CommandError, match="--relevant-by chooses what responses are written with"):
        ask(profiles, "refine", "--relevant-by", "mine")
    label(profiles, {"item-0": "yes"}, "quality", rater="trained mine 99999999")
    with pytest.raises(CommandError, match="mine is the name of several raters"):
        ask(profiles, "refine", "--flagged-by", "mine")
    assert ask(profiles, "refine", "--flagged-by", VERIFIER)["planned"] == 2


def test_people_shows_what_a_verifier_flags_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    make_fake(extra={})
    make_person("ann", [["I, ann, like five teas a day.", *(f"ann asks {n} {m}" for m in range(6))] for n in range(3)])
    study = make_annotation_study(kind="attribute", slug="profiles")
    people("corpus", "filter", "--without-assistant-use")
    people("corpus", "extract", "--endpoint", "scripted")
    people("corpus", "merge", "--similarity", "0.99")
    people("corpus", "push", "--study", "profiles")
    keys = list(AnnotationItem.objects.filter(study=study).order_by("position").values_list("key", flat=True))
    label(study, dict.fromkeys(keys, "yes") | {keys[0]: "no"}, "quality")
    client = log_in(study)
    said = " ".join(lines_of(client.get("/console/profiles/people/corpus/")).split())
    assert f"{VERIFIER} {VERSION} profiles {len(keys)} 1 0" in said
    user = CorpusUser.objects.get()
    page = lines_of(client.get(f"/console/profiles/people/corpus/users/{user.pk}/"))
    assert page.count(f"not supported, says {VERIFIER}") == 1
    program = as_program("ada")
    told = program.get("/api/v1/studies/profiles/people/corpus/").json()["verifiers"]
    assert told == [
        {"rater": VERIFIER, "version": VERSION, "study": "profiles", "labelled": len(keys), "flagged": 1, "asked": 0}
    ]


# --- a relevance model chooses what responses are given

SAID = {"item-0": "yyy", "item-1": "nnn", "item-2": "yyn"}


@copied_world
def pairs() -> Study:
    make_fake()
    study = make_annotation_study(kind="relevance", slug="pairs")
    rows = [
        {"key": f"item-{n}", "prompt": "Which tea?", "cluster": user, "attribute": f"Has {n} cups.", "source": str(n)}
        for n, user in enumerate(("ann", "ann", "bob"))
    ]
    push_items(study, rows, "tests")
    judge_items(study, "relevance", SAID)
    label(study, {"item-0": "no", "item-1": "yes", "item-2": "yes"}, "relevance")
    return study


def test_what_a_model_calls_relevant_is_a_condition_beside_peoples_majority(pairs: Study) -> None:
    into = make_annotation_study(kind="preference", slug="answers")
    ask(pairs, "respond")
    report = ask(pairs, "respond", "--relevant-by", "mine")
    assert report["chosen_by"] == [{"rater": VERIFIER, "version": VERSION}]
    known = Task.objects.filter(payload__arm="personalised").values_list("payload__attributes", flat=True)
    # For bob both call the same attribute relevant, so its responses serve both.
    assert sorted(known) == [["Has 0 cups."], ["Has 1 cups."], ["Has 2 cups."]]
    assert command("push_relevant", "pairs", "--to", "answers")["items"] == 2
    pushed = command("push_relevant", "pairs", "--to", "answers", "--relevant-by", "mine")
    assert (pushed["items"], pushed["relevant"], pushed["already_there"]) == (2, 2, 0)
    assert pushed["relevant_by"] == {"rater": VERIFIER, "version": VERSION}
    by_model = AnnotationItem.objects.filter(study=into, tags={**tags_of(into), "relevant by": VERIFIER})
    assert {item.payload["attributes"][0]["text"] for item in by_model} == {"Has 1 cups.", "Has 2 cups."}
    assert command("push_relevant", "pairs", "--to", "answers", "--relevant-by", "mine")["already_there"] == 2


def tags_of(study: Study) -> dict[str, Any]:
    return AnnotationItem.objects.filter(study=study).exclude(tags__has_key="relevant by").first().tags


def test_conditions_are_compared_by_what_people_rate(pairs: Study) -> None:
    into = make_annotation_study(kind="preference", slug="answers")
    ask(pairs, "respond")
    ask(pairs, "respond", "--relevant-by", "mine")
    command("push_relevant", "pairs", "--to", "answers")
    assert "conditions" not in ratings_after(into, 5)
    command("push_relevant", "pairs", "--to", "answers", "--relevant-by", "mine")
    first, second = ratings_after(into, 4)["conditions"]
    assert (first["relevant_by"], first["mean"]["value"], second["relevant_by"]) == ("people", 5, VERIFIER)
    assert second["mean"]["value"] == 4 and second["difference"]["value"] == -1 and second["items"] == 2
    page = lines_of(log_in(into).get("/console/answers/agreement/"))
    assert "By who called the attributes relevant" in page and VERIFIER in page


def ratings_after(study: Study, value: int) -> dict[str, Any]:
    """Three people rate all open items with `value`: 1 is for the generic response, 5 for the personalised one."""
    for _ in range(3):
        person = make_annotator(study)
        for task in tasks_of(person):
            shown = str(6 - value if task.left == "personalised" else value)
            annotate(person, task, **{f"preference__{part['id']}": shown for part in task.item.payload["attributes"]})
    return agreement_of(study)["questions"][0]["ratings"]


def test_a_reward_model_stands_beside_judges_in_stage_3(pairs: Study) -> None:
    into = make_annotation_study(kind="preference", slug="answers")
    make_items(into, 4, cluster="ann")
    ratings_after(into, 4)
    parts = [part["id"] for part in AnnotationItem.objects.filter(study=into)[0].payload["attributes"]]
    for item in AnnotationItem.objects.filter(study=into):
        said = {f"preference/{part}": "2" for part in parts}  # the personalised one was on the left: 4
        detail = {"model": "mine", "version": VERSION}
        record_judgement(item, VERIFIER, said, detail=detail, only=("preference",), left="personalised")
    (question,) = agreement_of(into)["questions"]
    (row,) = [each for each in question["ratings"]["raters"] if each["rater"] == VERIFIER]
    assert row["is_model"] and row["mean"]["value"] == 4
    assert {each["rater"]: each.get("version") for each in question["raters"]}[VERIFIER] == VERSION
    assert VERSION in lines_of(log_in(into).get("/console/answers/agreement/"))
