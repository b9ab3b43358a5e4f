"""Annotation studies: what their file may contain, and that every recruitment rule applies to them."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from surveys.annotation.label_imports import import_annotations
from surveys.models import Participant, Place, QuotaCell, Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from surveys.studies.files.definitions import Definition, StudyFault, StudyFileError, parse_study, read_study
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.labels import questions_for
from tests import factories
from tests.surveys.console.console_pages import lines_of

FILE = Path(settings.BASE_DIR) / "surveys" / "studies" / "profiles.toml"
GOOD = FILE.read_text(encoding="utf-8")


def parse(*changes: tuple[str, str], more: str = "") -> Definition:
    """The shipped study with the first occurrence of each old piece replaced and `more` appended."""
    text = GOOD
    for old, new in changes:
        assert old in text, f"{old!r} is not in the file"
        text = text.replace(old, new, 1)
    return parse_study((text + more).encode(), "profiles")


def faults_of(*changes: tuple[str, str], more: str = "") -> list[StudyFault]:
    with pytest.raises(StudyFileError) as caught:
        parse(*changes, more=more)
    return caught.value.faults


# --- the file ---------------------------------------------------------------


def test_shipped_study_says_what_annotators_do() -> None:
    study = read_study(FILE)
    work = study.annotation
    assert (work.kind, work.overlap, work.quota, work.least, work.block) == ("attribute", 3, 60, 5, "user")
    assert "Makes sense" in work.guidelines and study.pay_per_hour == 18
    assert study.chatbots == study.prompts == ()
    assert [(cell.slug, cell.places, cell.where) for cell in study.cells] == [("annotators", 30, {})]


def test_left_out_keys_have_their_defaults() -> None:
    short = (
        '[annotation]\nkind = "relevance"\nannotators = 5\nquota = 20\nguidelines_version = "1"\nguidelines = "x"\n\n'
    )
    text = GOOD[: GOOD.index("[annotation]")] + short + GOOD[GOOD.index("[debrief]") :]
    work = parse_study(text.encode()).annotation
    assert work == AnnotationWork("relevance", 3, 20, 1, "shuffled", 10, 70, 10, "", "1", "x")


def test_cells_may_divide_the_annotators() -> None:
    cells = '\n[[cells]]\nslug = "all"\nname = "All"\nwhere = {}\nplaces = 7\n'
    study = parse(("annotators = 30\n", ""), more=cells)
    assert [(cell.slug, cell.places) for cell in study.cells] == [("all", 7)]


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('kind = "attribute"', 'kind = "atribute"', "annotation.kind", "did you mean `attribute`?"),
        ('kind = "attribute"', 'kind = "imported"', "annotation.kind", "it can be `attribute`"),
        ("overlap = 3", "overlap = 0", "annotation.overlap", "from 1 to 20"),
        ("quota = 60", "quota = 0", "annotation.quota", "from 1 to 10,000"),
        ("quota = 60\n", "", "annotation.quota", "is missing"),
        ("annotators = 30\n", "", "annotation.annotators", "is missing: it says how many annotators"),
        ("least = 5", "least = 61", "annotation.least", "is 61, but nobody is given more than 60 items"),
        ('block = "user"', 'block = "random"', "annotation.block", "it can be `user`, `shuffled`"),
        ("pass_mark = 60", "pass_mark = 101", "annotation.pass_mark", "from 0 to 100"),
        ("hold_minutes = 10", 'next = "profiles"', "annotation.next", "is this study itself"),
        ('misunderstood = "PROFMISS9"\n', "", "codes.misunderstood", "is missing: a study with comprehension"),
        ("overlap = 3", "overlaps = 3", "annotation.overlaps", "did you mean `overlap`?"),
        ("overlap = 3", 'wording = "recentring-humans"', "annotation.wording", "did you mean `recentering-humans`?"),
        (
            "[debrief]",
            '[[wordings]]\nquestion = "relevance"\ntext = "Which?"\n[debrief]',
            "wordings[1].question",
            "annotators are asked `quality`, `uncomfortable`",
        ),
        (
            "[debrief]",
            '[[wordings]]\nquestion = "quality"\nlabels = { yse = "Yes" }\n[debrief]',
            "wordings[1]",
            "names the label 'yse', but quality has `no`, `maybe`",
        ),
    ],
)
def test_fault_is_named_with_its_place(old: str, new: str, place: str, says: str) -> None:
    (fault,) = faults_of((old, new))
    assert fault.place == place and says in fault.message and fault.line


def test_training_needs_a_code_for_those_who_fail_it() -> None:
    comprehension = GOOD[GOOD.index("[[comprehension]]") : GOOD.index("[codes]")]
    (fault,) = faults_of((comprehension, ""), ('misunderstood = "PROFMISS9"\n', ""))
    assert fault.place == "codes.misunderstood" and "those who fail the training" in fault.message


@pytest.mark.parametrize(
    "table",
    [
        '[chatbot_question]\ntext = "Which?"',
        '[order]\nscheme = "fixed"',
        '[checks]\npaste = ["empty"]',
        '[[prompts]]\nslug = "a"\ntitle = "A"\nkind = "recommendation"\ntext = "A?"',
        '[[exclusions]]\nslug = "a"\ntext = "A."',
    ],
)
def test_what_only_people_with_chatbots_need_is_refused(table: str) -> None:
    name = table[: table.index("]")].strip("[")
    assert [(fault.place, fault.message) for fault in faults_of(more=f"\n{table}\n")] == [
        (name, "is not for a study of annotators")
    ]


def test_own_words_are_data_of_the_study_and_leave_the_documents_of_others_as_they_are() -> None:
    plain = parse_study(GOOD.encode())
    assert not {"wording", "wordings"} & (plain.to_document().keys() | plain.to_document()["annotation"].keys())
    own = '[[wordings]]\nquestion = "quality"\ntext = "Is that you?"\nlabels = { yes = "Yes, it is" }\n\n[debrief]'
    text = GOOD.replace("overlap = 3", 'overlap = 3\nwording = "recentering-humans"').replace("[debrief]", own)
    study = parse_study(text.encode())
    assert Definition.from_document(study.to_document()) == study
    quality = questions_for(study.annotation)[0]
    # The study's own words override those of the preset and of the kind, and bring no hints.
    assert (quality.text, [(choice.label, choice.hint) for choice in quality.choices]) == (
        "Is that you?",
        [("Doesn't make sense", ""), ("Maybe", ""), ("Yes, it is", "")],
    )
    assert (quality.values, quality.positive) == (questions_for(plain.annotation)[0].values, "no")
    preset = questions_for(replace(study.annotation, wordings=()))[0]
    assert preset.choices[2].hint == "Plausible given the conversation."


def test_document_of_other_studies_knows_nothing_of_annotation() -> None:
    document = read_study(FILE.with_name("demo.toml")).to_document()
    assert "annotation" not in document and Definition.from_document(document).annotation is None


# --- recruitment ------------------------------------------------------------


@pytest.mark.django_db
def test_annotators_take_places_until_they_are_full() -> None:
    study = factories.make_annotation_study(places=2, items=3)
    assert [(cell.chatbot, cell.name) for cell in QuotaCell.objects.filter(study=study)] == [("", "Annotators")]
    people = [factories.make_annotator(study, at="instructions") for _ in range(2)]
    late = recruitment.screen(recruitment.give_consent(study, factories.make_visit()), "", {})
    assert [person.state for person in people] == ["active", "active"]
    assert (late.state, late.reason, late.code) == ("over_quota", "cells-full", "CODE4")
    assert all(person.answers == {} and person.order == [] for person in people)
    done = factories.finish_annotating(people[0])
    assert (done.state, done.code, done.overflow) == ("completed", "CODE1", False)
    assert Place.objects.get(participant=done).confirmed_at


@pytest.mark.django_db
def test_finishing_without_a_place_is_overflow_and_the_labels_count() -> None:
    study = factories.make_annotation_study(places=1, items=1)
    slow = factories.make_annotator(study)
    factories.annotate(slow)
    Place.objects.filter(participant=slow).update(participant=None, expires_at=None)
    factories.finish_annotating(factories.make_annotator(study))
    assert (factories.finish_annotating(slow).overflow, slow.slots.filter(done_at__isnull=False).count()) == (True, 1)


@pytest.mark.django_db
def test_amended_guidelines_are_kept_with_the_labels_of_those_who_saw_them() -> None:
    study = factories.make_annotation_study(items=2)
    early = factories.make_annotator(study)
    definition = factories.definition_of(study)
    changed = replace(definition, annotation=replace(definition.annotation, guidelines_version="2"))
    study, outcome = lifecycle.load_definition(changed, "tests", "A clearer wording.")
    assert outcome == "amended"
    versions = [
        factories.annotate(person).annotation.guidelines_version for person in (early, factories.make_annotator(study))
    ]
    assert versions == ["1", "2"]


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["monitor", "setup", "participants", "flow", "audit"])
def test_console_shows_a_study_of_annotators(client, page: str) -> None:
    study = factories.make_annotation_study(items=3)
    factories.annotate(factories.make_annotator(study))
    factories.finish_annotating(factories.make_annotator(study))
    client.force_login(factories.make_account(study=study, role="owner"))
    assert client.get(reverse(f"console:{page}", args=[study.slug])).status_code == 200


@pytest.mark.django_db
def test_list_of_annotators_counts_their_labels(client) -> None:
    study = factories.make_annotation_study(items=3)
    annotator = factories.make_annotator(study)
    for _ in range(2):
        factories.annotate(annotator)
    client.force_login(factories.make_account(study=study, role="owner"))
    page = client.get(reverse("console:participants", args=[study.slug]))
    assert "Labels" in lines_of(page) and [person.answered for person in page.context["people"]] == [2]


@pytest.mark.django_db
def test_study_that_holds_imported_labels_can_be_looked_at(client, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\nt1,a,1\nt1,b,2\n", encoding="utf-8")
    study, _ = import_annotations("tea-labels", path, "tests")
    client.force_login(factories.make_account(study=study, role="owner"))
    for name in ("monitor", "setup", "participants", "flow"):
        assert client.get(reverse(f"console:{name}", args=[study.slug])).status_code == 200
    assert Study.objects.get().state == "closed" and Participant.objects.count() == 2
    pseudonym = Participant.objects.first().pseudonym
    page = lines_of(client.get(reverse("console:participant", args=[study.slug, pseudonym])))
    assert "This person has labelled 1 item." in page and "Completed code" not in page
    for farewell in ("withdrawn", "no-consent"):  # without codes nobody ends there
        assert client.get(reverse(f"annotation:{farewell}", args=[study.slug])).status_code == 404
