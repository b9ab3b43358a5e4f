"""The study on Prolific, made from the study file: one draft, compared field by field, published by a person."""

from datetime import timedelta
from decimal import Decimal

import pytest

from surveys.console.setup_views import CODE_TYPES
from surveys.models import AuditEvent, ProlificDraft, ProlificStudy, Study
from surveys.prolific.client import ProlificError, Refused
from surveys.prolific.draft import CODES, SetUpError, compare, make_draft, publish, seen_of, update_draft, wanted
from surveys.prolific.mock.books import Books
from surveys.studies.files.schema import ProlificFilter, Reward
from tests.factories import make_definition, make_study

pytestmark = pytest.mark.django_db
LINK = "https://study.example.org/s/teas/?PROLIFIC_PID={{%PROLIFIC_PID%}}"


@pytest.fixture
def books() -> Books:
    return Books("a-token-that-nobody-may-read")


def make(state: str = "live", **changes) -> Study:
    changes = {"description": "Copy two prompts.", "prolific_study_ids": ()} | changes
    return make_study(state, make_definition(**changes))


def test_draft_is_as_the_study_file_wants_it(books: Books, client_at) -> None:
    study = make(filters=(ProlificFilter("age", lower=18, upper=60), ProlificFilter("fluent-languages", ("19",))))
    name = make_draft(study, LINK, "ada", client_at())
    made = books.studies[name]
    assert made["status"] == "UNPUBLISHED"
    assert (made["reward"], made["estimated_completion_time"]) == (200, 10)
    assert made["total_available_places"] == sum(cell.places.count() for cell in study.cells.all())
    assert {"code": "CODE1", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]} in made[
        "completion_codes"
    ]
    assert made["filters"][0] == {"filter_id": "age", "selected_range": {"lower": 18, "upper": 60}}
    assert [part.name for part in compare(study, LINK, made) if not part.is_same] == []
    assert ProlificStudy.objects.get().prolific_id == name
    assert AuditEvent.objects.filter(action="study on Prolific made", subject=name, actor="ada").count() == 1


@pytest.mark.parametrize("fault", ["timeout-after", "500-after"])
def test_call_without_an_answer_makes_no_second_draft(books: Books, client_at, fault: str) -> None:
    study = make()
    books.order_fault(fault, "POST studies/$")
    with pytest.raises(SetUpError, match="may have been made"):
        make_draft(study, LINK, "ada", client_at())
    name = make_draft(study, LINK, "bob", client_at())
    assert list(books.studies) == [name] and books.calls["POST studies/"] == 1
    with pytest.raises(SetUpError, match="on Prolific already"):
        make_draft(study, LINK, "bob", client_at())


def test_draft_that_does_not_show_is_asked_for_anew_an_hour_later(books: Books, client_at) -> None:
    study = make()
    books.order_fault("timeout", "POST studies/$")
    with pytest.raises(SetUpError, match="may have been made"):
        make_draft(study, LINK, "ada", client_at())
    with pytest.raises(SetUpError, match="ada asked for the draft"):
        make_draft(study, LINK, "bob", client_at())
    ProlificDraft.objects.update(asked_at=ProlificDraft.objects.get().asked_at - timedelta(hours=1))
    make_draft(study, LINK, "bob", client_at())
    assert (len(books.studies), books.calls["POST studies/"]) == (1, 2)


def test_token_without_rights_leaves_nothing_behind(books: Books, client_at) -> None:
    study = make()
    books.token = "another"
    with pytest.raises(Refused, match="refused the token"):
        make_draft(study, LINK, "ada", client_at())
    books.token = "a-token-that-nobody-may-read"
    books.order_fault("403", "POST studies/$")
    with pytest.raises(Refused, match=r"refused the token \(403\)"):
        make_draft(study, LINK, "ada", client_at())
    assert not ProlificDraft.objects.exists()
    make_draft(study, LINK, "ada", client_at())
    assert len(books.studies) == 1


def test_study_without_a_description_is_not_made(books: Books, client_at) -> None:
    with pytest.raises(SetUpError, match=r"\[recruiting\]"):
        make_draft(make(description=""), LINK, "ada", client_at())
    assert books.calls.total() == 0


def test_numbers_as_texts_are_the_same_numbers(books: Books, client_at) -> None:
    study = make()
    name = make_draft(study, LINK, "ada", client_at())
    books.as_strings = True
    theirs = client_at().content_of(name)
    assert (theirs["reward"], theirs["total_available_places"]) == (
        "200",
        str(books.studies[name]["total_available_places"]),
    )
    assert all(part.is_same for part in compare(study, LINK, theirs))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"reward": 150}, "reward"),
        ({"reward": "2.00"}, "reward"),
        ({"name": None}, "name"),
        ({"description": 7}, "description"),
        ({"filters": [{"filter_id": "age"}]}, "filters"),
        ({"filters": "all"}, "filters"),
        ({"completion_codes": [{"code": "X"}]}, "completion_codes"),
        ({"total_available_places": True}, "total_available_places"),
        ({"currency_code": "GBP"}, "currency_code"),
    ],
)
def test_each_field_that_differs_is_found(books: Books, client_at, change: dict, name: str) -> None:
    study = make()
    theirs = books.studies[make_draft(study, LINK, "ada", client_at())] | change
    assert [part.name for part in compare(study, LINK, theirs) if not part.is_same] == [name]


def test_study_that_would_be_turned_away_here_differs(books: Books, client_at) -> None:
    study = make(prolific_study_ids=("a" * 24, "b" * 24))
    parts = compare(study, LINK, wanted(study, LINK) | {"id": "c" * 24})
    assert [part.name for part in parts if not part.is_same] == ["id"]


def test_update_changes_what_differs_and_nothing_else(books: Books, client_at) -> None:
    study = make()
    name = make_draft(study, LINK, "ada", client_at())
    books.studies[name] |= {"reward": 150, "device_compatibility": ["desktop"]}
    assert update_draft(study, LINK, "ada", client_at()) == ["reward"]
    assert (books.studies[name]["reward"], books.studies[name]["device_compatibility"]) == (200, ["desktop"])
    assert AuditEvent.objects.get(action="draft on Prolific changed").detail == {"fields": ["reward"]}
    assert update_draft(study, LINK, "ada", client_at()) == []
    books.studies[name] |= {"status": "ACTIVE", "reward": 150}
    with pytest.raises(SetUpError, match="It is published"):
        update_draft(study, LINK, "ada", client_at())


def test_two_studies_here_never_share_one_there(books: Books, client_at) -> None:
    name = make_draft(make(), LINK, "ada", client_at())
    other = make(slug="other", prolific_study_ids=(name,))
    with pytest.raises(ProlificError, match="paid by another study here"):
        update_draft(other, LINK, "eve", client_at())
    assert books.studies[name]["internal_name"].startswith("teas at")


# --- publishing ---------------------------------------------------------------


def test_publishing_takes_a_person_who_saw_what_is_there(books: Books, client_at) -> None:
    study = make()
    name = make_draft(study, LINK, "ada", client_at())
    with pytest.raises(SetUpError, match="changed since you saw it"):
        publish(study, LINK, "ada", client_at(), "")
    books.studies[name]["reward"] = 100
    with pytest.raises(SetUpError, match="another reward"):
        publish(study, LINK, "ada", client_at(), seen_of(study, LINK))
    assert books.studies[name]["status"] == "UNPUBLISHED"
    update_draft(study, LINK, "ada", client_at())
    publish(study, LINK, "ada", client_at(), seen_of(study, LINK))
    assert books.studies[name]["status"] == ProlificStudy.objects.get().status == "ACTIVE"
    assert AuditEvent.objects.get(action="publishing on Prolific").actor == "ada"


def test_study_whose_link_does_not_work_is_not_published(books: Books, client_at) -> None:
    study = make("draft")
    name = make_draft(study, LINK, "ada", client_at())
    with pytest.raises(SetUpError, match="link does not work yet"):
        publish(study, LINK, "ada", client_at(), seen_of(study, LINK))
    assert books.studies[name]["status"] == "UNPUBLISHED"


@pytest.mark.parametrize(("fault", "status"), [("timeout", "UNPUBLISHED"), ("timeout-after", "ACTIVE")])
def test_publishing_without_an_answer_is_read_back(books: Books, client_at, fault: str, status: str) -> None:
    study = make()
    name = make_draft(study, LINK, "ada", client_at())
    books.order_fault(fault, "transition")
    if status == "ACTIVE":
        publish(study, LINK, "ada", client_at(), seen_of(study, LINK))
    else:
        with pytest.raises(SetUpError, match="still shows a draft"):
            publish(study, LINK, "ada", client_at(), seen_of(study, LINK))
    assert books.studies[name]["status"] == status
    assert books.calls["POST studies/:id/transition/"] == 1


def test_codes_are_those_of_the_set_up_page() -> None:
    assert {name: kind for name, (kind, _) in CODES.items()} == {name: kind for name, (kind, _) in CODE_TYPES.items()}


def test_screen_out_waits_for_a_decision_where_it_is_promised() -> None:
    def action(study: Study) -> str:
        codes = wanted(study, LINK)["completion_codes"]
        return next(each["actions"][0]["action"] for each in codes if each["code"] == "CODE3")

    assert action(make()) == "REQUEST_RETURN"
    assert action(make(slug="paid", pay=Reward("USD", Decimal("2.00"), Decimal("0.50")))) == "MANUALLY_REVIEW"
