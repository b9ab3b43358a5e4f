"""What pages of baselines offer to whom, beyond their addresses (tests/access), and the rules of endpoints."""

import re
from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from analysis.endpoints import endpoints
from analysis.models import Endpoint, Run
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.analysis.runs.run_samples import make_running
from tests.factories import make_account, make_study
from tests.roles import as_account, make_roles

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study("draft")
    make_roles(study)
    return study


@pytest.fixture
def run(study: Study) -> Run:
    run = make_running(study)
    Endpoint.objects.filter(pk=run.endpoint_id).update(study=study)
    return run


@pytest.fixture(autouse=True)
def names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every host a public address, so that nothing is looked up."""
    monkeypatch.setattr(endpoints, "addresses_of", lambda host, port: {"93.184.215.14"})


def address_of(name: str, run: Run, slug: str = "teas") -> str:
    more = {
        **dict.fromkeys(("run", "run-part"), [run.pk]),
        "completion": [run.pk, run.completions.earliest("pk").pk],
        "change-run": [run.pk, "pause"],
        "endpoint": [run.endpoint.name],
    }
    return reverse(f"baselines:{name}", args=[slug, *more.get(name, [])])


def test_viewers_are_offered_no_buttons_that_act(run: Run) -> None:
    client = as_account("viewer")
    for name in ("runs", "run", "completion", "endpoints"):
        page = client.get(address_of(name, run)).content.decode()
        assert re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', page) == ["/console/logout/"], name
        assert address_of("new-run", run) not in page and address_of("new-endpoint", run) not in page


def test_part_of_a_page_sends_a_logged_out_browser_to_the_log_in(run: Run) -> None:
    for name in ("run-part", "runs-part", "estimate"):
        response = Client().get(address_of(name, run), headers={"HX-Request": "true"})
        assert (response.status_code, response["HX-Redirect"], response.content) == (
            200,
            "/console/login/?next=/console/",
            b"",
        )


def test_run_of_another_study_is_not_found_here_by_anybody(run: Run, study: Study) -> None:
    """Not by administrators, who see it in its own study, nor if somebody has shared it."""
    theirs = make_running(Study.objects.get(slug="coffees"))
    theirs.shared_with.add(study)
    make_account("admin", is_superuser=True)
    pages = [
        as_account(name).get(address_of("run", each, slug)).status_code
        for name, each, slug in product(("admin", "owner"), (run, theirs), ("teas", "coffees"))
    ]
    assert pages == [200, 404, 404, 200, 200, 404, 404, 404]


def test_forms_of_another_site_are_refused(run: Run) -> None:
    client = as_account("owner", enforce_csrf_checks=True)
    assert client.post(address_of("change-run", run)).status_code == 403
    run.refresh_from_db()
    assert run.state == "running"


# --- endpoints


def form_of(**changes: str) -> dict[str, str]:
    given = {
        "name": "mini",
        "provider": "openai",
        "base_url": "https://api.example.org/v1",
        "model": "gpt-mini",
        "concurrency": "4",
        "context_window": "128000",
        "max_tokens": "500",
        "price_in": "0.15",
        "price_out": "0.6",
    }
    return given | changes


def save(account: str, run: Run, **changes: str):
    return as_account(account).post(address_of("new-endpoint", run), form_of(**changes))


def endpoint_named(name: str):
    return Endpoint.objects.filter(name=name).first()


def test_owner_makes_an_endpoint_and_the_trail_says_so(run: Run) -> None:
    assert save("owner", run).status_code == 302
    endpoint = endpoint_named("mini")
    assert (endpoint.model, endpoint.concurrency, endpoint.requests_per_minute, endpoint.extra) == (
        "gpt-mini", 4, None, {},
    )  # fmt: skip
    event = AuditEvent.objects.get(action="endpoint saved")
    assert (event.actor, event.subject, event.detail["base_url"]) == ("owner", "mini", endpoint.base_url)


def test_key_goes_to_a_new_address_only_when_an_administrator_says_so(run: Run) -> None:
    assert save("owner", run, key_env="EXAMPLE_API_KEY").status_code == 422
    make_account("root", is_superuser=True)
    assert save("root", run, key_env="EXAMPLE_API_KEY").status_code == 302
    assert save("owner", run, name="maxi", model="gpt-maxi", key_env="EXAMPLE_API_KEY").status_code == 302
    elsewhere = {"name": "thief", "key_env": "EXAMPLE_API_KEY", "base_url": "https://elsewhere.example.org/v1"}
    response = save("owner", run, **elsewhere)
    assert response.status_code == 422 and "was not sent to this address before" in response.content.decode()
    moved = form_of(key_env="EXAMPLE_API_KEY", base_url="https://elsewhere.example.org/v1")
    mini = reverse("baselines:endpoint", args=["teas", "mini"])
    assert as_account("owner").post(mini, moved).status_code == 422
    assert endpoint_named("mini").base_url == "https://api.example.org/v1"


def test_a_name_that_does_not_fit_is_refused_in_plain_words_and_kept(run: Run) -> None:
    response = save("owner", run, name="two words")
    page = response.content.decode()
    assert response.status_code == 422 and endpoint_named("two words") is None
    assert "Use up to 50 letters, digits, - and _." in page and 'value="two words"' in page and "slug" not in page


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "PROLIFIC_TOKEN", "sk-live-4711", "PATH"])
def test_the_sites_own_secrets_and_keys_themselves_are_no_variables(run: Run, name: str) -> None:
    make_account("root", is_superuser=True)
    response = save("root", run, key_env=name)
    assert response.status_code == 422 and endpoint_named("mini") is None
    assert f'value="{name}"' not in response.content.decode()


def test_list_says_whether_the_key_is_set_and_never_shows_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_endpoint(
        name="with", study=run.study, provider="openai", base_url="https://a.example.org/v1", key_env="GIVEN_KEY"
    )
    make_endpoint(name="without", provider="openai", base_url="https://a.example.org/v1", key_env="MISSING_KEY")
    monkeypatch.setenv("GIVEN_KEY", "sk-the-key-itself")
    monkeypatch.delenv("MISSING_KEY", raising=False)
    client = as_account("owner")
    listed = client.get(address_of("endpoints", run)).content.decode()
    shown = client.get(reverse("baselines:endpoint", args=["teas", "with"])).content.decode()
    assert re.search(r"<code>GIVEN_KEY</code>\s+is set", listed)
    assert re.search(r'<code>MISSING_KEY</code>\s+<span\s+class="low"\s*>is not set here</span>', listed)
    assert "sk-the-key-itself" not in listed + shown


def test_endpoint_with_runs_keeps_its_model_and_stays_simulated(run: Run) -> None:
    address, name = address_of("endpoint", run), run.endpoint.name
    owner = as_account("owner")
    assert owner.post(address, form_of(name=name, provider="fake", model="other")).status_code == 422
    same = form_of(name=name, provider="openai", model="scripted", base_url="", price_in="3")
    response = owner.post(address, same)
    assert response.status_code == 302, response.context["form"].errors
    run.endpoint.refresh_from_db()
    assert (run.endpoint.provider, run.endpoint.model, run.endpoint.price_in) == ("fake", "scripted", 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base_url": "nowhere"}, "is not a base URL"),
        ({"name": "mini model"}, "Name"),
        ({"extra": "[1]"}, "A JSON object"),
        ({"concurrency": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_is_no_endpoint_is_refused_in_words(run: Run, changes: dict, words: str) -> None:
    response = save("owner", run, **changes)
    assert response.status_code == 422 and words in response.content.decode()
    assert endpoint_named("mini") is None
