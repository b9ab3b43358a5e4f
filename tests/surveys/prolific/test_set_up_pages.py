"""The pages about the study on Prolific: who may use them, what they show, and that only a person publishes."""

import pytest

from surveys.models import ProlificDraft, Study
from surveys.prolific import tasks
from surveys.prolific.mock.books import Books
from tests.factories import make_definition, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said
from tests.surveys.prolific.conftest import TOKEN

pytestmark = pytest.mark.django_db
AT = "/console/teas/paying/study/"


@pytest.fixture
def books() -> Books:
    return Books(TOKEN)


@pytest.fixture
def study(db: None) -> Study:
    return make_study("live", make_definition(description="Copy two prompts.", prolific_study_ids=()))


def test_draft_is_made_compared_changed_and_published(study: Study, books: Books, site: str) -> None:
    client = log_in(study, "researcher")
    assert "There is no study on Prolific yet." in lines_of(client.get(AT))
    [words] = said(client.post(f"{AT}make/", follow=True))
    [name] = books.studies
    assert words == f"The draft {name} is on Prolific. Nobody sees it until somebody publishes it."
    assert "The draft on Prolific is as the study file wants it." in lines_of(client.get(AT))
    books.studies[name]["reward"] = "150"
    page = lines_of(client.get(AT))
    assert "The draft on Prolific differs in 1 field." in page and "Reward differs 2.00 1.50" in page
    assert said(client.post(f"{AT}update/", follow=True)) == ["1 field of the draft changed."]
    question = client.get(f"{AT}publish/")
    assert "Prolific sets aside" in lines_of(question) and books.studies[name]["status"] == "UNPUBLISHED"
    seen = question.context["seen"]
    assert "Nothing was published" in said(client.post(f"{AT}publish/", follow=True))[0]
    assert said(client.post(f"{AT}publish/", {"seen": seen}, follow=True)) == ["The study is published on Prolific."]
    assert books.studies[name]["status"] == "ACTIVE"
    assert "The study on Prolific is as the study file wants it." in lines_of(client.get(AT))


def test_background_work_never_publishes(study: Study, books: Books, site: str) -> None:
    log_in(study).post(f"{AT}make/")
    assert tasks.pay_and_read_back_all() == 1
    assert [each["status"] for each in books.studies.values()] == ["UNPUBLISHED"]


@pytest.mark.parametrize("fault", ["429", "403", "500", "timeout", "huge", "html"])
def test_page_says_why_prolific_cannot_be_read(study: Study, books: Books, site: str, fault: str) -> None:
    client = log_in(study)
    client.post(f"{AT}make/")
    books.order_fault(fault, "GET studies")
    page = client.get(AT)
    assert page.status_code == 200
    assert "The study on Prolific could not be read." in lines_of(page) and page.context["fault"]
    assert TOKEN not in page.content.decode()


def test_without_token_nothing_is_asked(study: Study, books: Books, site: str, monkeypatch) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert "PROLIFIC_TOKEN" in said(log_in(study).post(f"{AT}make/", follow=True))[0]
    assert books.calls.total() == 0 and not ProlificDraft.objects.exists()
