"""What launching warns about: remains of an example, and things forgotten."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from surveys.models import Study
from surveys.studies import lifecycle
from surveys.studies.files.definitions import read_study
from surveys.studies.files.schema import Consent
from surveys.studies.lifecycle import launch_warnings
from tests.factories import make_annotation_study, make_definition, make_items, make_study
from tests.surveys.console.console_pages import lines_of, log_in
from tests.surveys.studies.files.sample_study import read_german

pytestmark = pytest.mark.django_db
EXAMPLE = Path(lifecycle.__file__).parent / "field-13.toml"


def test_page_that_launches_says_what_is_left_of_an_example() -> None:
    study = make_study("draft", definition=read_study(EXAMPLE))
    client = log_in(study)
    page = client.get(reverse("console:change-state", args=[study.slug, "launch"])).text
    assert "These completion codes are those of an example" in page
    assert "stand in for benchmark items that are not imported" in page
    assert "No Prolific study id is given" in page
    assert "Look at this first" not in client.get(reverse("console:change-state", args=[study.slug, "pilot"])).text


def test_annotators_get_items_before_their_study_is_launched() -> None:
    study = make_annotation_study(slug="facts", kind="attribute")
    Study.objects.update(state="draft")
    client = log_in(study)

    def warns(step: str) -> bool:
        page = client.get(reverse("console:change-state", args=["facts", step])).text
        return "whoever comes finds nothing to judge" in page

    assert warns("launch") and warns("pilot")
    assert "Next: Give annotators items." in lines_of(client.get("/console/facts/"))
    make_items(study, 2)
    assert not warns("launch") and warns("pilot")
    assert "Next: Read and launch the study." in lines_of(client.get("/console/facts/"))
    setup = lines_of(client.get("/console/facts/setup/"))
    assert "Each item is labelled by" in setup
    for of_chatbots in ("Prompts", "Chatbots", "first question", "When pasting"):
        assert of_chatbots not in setup


def test_study_of_ones_own_gives_no_warning() -> None:
    consent = Consent("1", "This study is run by the University of Somewhere.")
    prompts = tuple(replace(prompt, item="") for prompt in make_definition().prompts)
    own = make_definition(consent=consent, prolific_study_ids=("5e" * 12,), prompts=prompts)
    assert launch_warnings(own) == []
    nobody = replace(own, consent=Consent("1", "We ask you."))
    assert launch_warnings(nobody) == ["The consent text names no institution."]
    welsh = replace(own, language="cy")
    assert launch_warnings(welsh) == ["The pages do not speak cy: around the study's texts they are in English."]
    # The German text names none, the English one does.
    assert launch_warnings(replace(own, languages=read_german())) == [
        "The consent text in the language de names no institution."
    ]


@pytest.mark.parametrize(
    ("path", "is_seen"),
    [
        ("templates/base.html", True),
        ("templates/participation/page.html", True),
        ("templates/pasting/parts/page.html", True),
        ("templates/annotation/page.html", True),
        ("surveys/static/surveys/survey.css", True),
        ("surveys/static/surveys/survey.js", True),
        ("surveys/static/surveys/privacy_rules.json", True),
        ("surveys/locale/de/LC_MESSAGES/django.po", True),
        ("surveys/static/surveys/console.css", False),
        ("templates/console/page.html", False),
    ],
)
def test_hash_of_a_version_is_another_once_a_page_of_participants_is(
    path: str, is_seen: bool, settings: Any, tmp_path: Path
) -> None:
    """The study's file may be unchanged, but what people saw has changed, and the version's hash must say so."""
    folder, settings.BASE_DIR = settings.BASE_DIR, tmp_path
    assert (Path(folder) / path).parents[path.count("parts/")].is_dir()  # else the rule looks for a folder that is gone
    file = tmp_path / path
    for at in (tmp_path / "templates" / "base.html", file):
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text("before")
    before = lifecycle.interface_hash.__wrapped__()
    file.write_text("after")
    assert (lifecycle.interface_hash.__wrapped__() != before) == is_seen


def test_set_up_shows_each_prompt_in_each_language() -> None:
    study = make_study("draft", languages=read_german())
    page = log_in(study).get(reverse("console:setup", args=[study.slug])).text
    assert "in English and German" in " ".join(page.split())
    assert '<pre class="prose" lang="de" dir="auto">Empfiehl fünf Tees.</pre>' in page
