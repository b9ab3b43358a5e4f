"""Every operation of the API refuses what its schema does not declare, in a sentence."""

import gzip
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.exceptions import ParseError
from rest_framework.test import APIClient

from analysis.exports.refusals import Operation, check_body
from fieldstudy.urls import Later, urlpatterns
from tests.factories import make_account

pytestmark = pytest.mark.django_db
GIVEN = {"slug": "teas", "number": 1, "table": "responses", "kind": "csv", "corpus": "chats"}
GIVEN |= {"name": "heterogeneity", "action": "pause", "task": "extract", "step": "filter"}
API = next(part for part in urlpatterns if isinstance(part, Later) and part.namespace == "api").url_patterns
VIEWS = {pattern.name: pattern for pattern in API if issubclass(pattern.callback.view_class, Operation)}
OPERATIONS = [
    (name, method)
    for name, pattern in VIEWS.items()
    for method in ("get", "head", "post")
    if hasattr(pattern.callback.view_class, method.replace("head", "get"))
]


@pytest.fixture
def program() -> APIClient:
    client = APIClient()
    client.force_authenticate(make_account("ada"))
    return client


def call(program: APIClient, name: str, query: str, method: str = "get", body: Any = None) -> Any:
    kwargs = {key: GIVEN[key] for key in VIEWS[name].pattern.converters}
    return getattr(program, method)(f"{reverse(f'api:{name}', kwargs=kwargs)}?{query}", body, format="json")


def test_all_are_operations() -> None:
    assert {pattern.name for pattern in API} - VIEWS.keys() == {None}


@pytest.mark.parametrize(("name", "method"), OPERATIONS)
def test_unknown_parameters_are_refused(program: APIClient, name: str, method: str) -> None:
    answer = call(program, name, "limits=5", method)
    assert answer.status_code == 400
    said = answer.json()["detail"] if method != "head" else "limits: no such parameter. "
    assert said.startswith("limits: no such parameter. ")


@pytest.mark.parametrize("name", [name for name, method in OPERATIONS if method == "post"])
def test_unknown_fields_are_refused(program: APIClient, name: str) -> None:
    for body, said in (({"dry_runs": True}, "dry_runs: no such field. "), ([1], "Send a JSON object. ")):
        answer = call(program, name, "", "post", body)
        assert (answer.status_code, answer.json()["detail"][: len(said)]) == (400, said)


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        ("participants", "limits=5", "limits: no such parameter. Did you mean limit?"),
        ("study", "q=1", "q: no such parameter. There is no parameter here."),
        ("people-step", "q=1", "q: no such parameter. There is no parameter here."),
        ("participants", "format=csv", "format: no such parameter. The parameters are pilot, preview, simulated, "),
        ("participants", "pilot=perhaps", "pilot is true or false, not 'perhaps'."),
        ("participants", "pilot=true&pilot=false", "pilot is given more than once."),
        ("participants", "limit=x", "limit takes whole numbers from 1, not 'x'."),
        ("participants", "limit=0", "limit takes whole numbers from 1, not '0'."),
        ("participants", "limit=%D9%A3", "limit takes whole numbers from 1, not '٣'."),
        ("participants", f"offset={10**18}", "offset takes whole numbers from 0, not '1000000000000000000'."),
        ("responses", "simulated=%00", "simulated is true or false, not '\\x00'."),
        ("export", "limit=5", "limit: no such parameter. "),
        ("everything", "format=xlsx", "format is csv, jsonl, parquet, sav or all, not 'xlsx'."),
        ("metrics", "top=3", "top: no such parameter. "),
        ("figure", "part=about", "part: no such parameter. "),
        ("figure", "narrow=perhaps", "narrow is true or false, not 'perhaps'."),
        ("agreement", "pilots=only", "pilots: no such parameter. Did you mean pilot?"),
        ("agreement", "pilot=true", "pilot is only or left out, not 'true'."),
        ("completions", "run=x", "run takes whole numbers from 1, not 'x'."),
        ("completions", "status=sent", "status is pending, leased, done or failed, not 'sent'."),
        ("schema", "format=nix", "format is yaml or json, not 'nix'."),
        ("docs", "q=1", "q: no such parameter. The parameters are script."),
    ],
)
def test_a_refusal_says_what_there_is(program: APIClient, name: str, query: str, said: str) -> None:
    answer = call(program, name, query, "post" if name == "people-step" else "get")
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(said)


def test_a_list_for_an_operation_without_fields_is_refused_in_a_whole_sentence() -> None:
    with pytest.raises(ParseError, match="^Send a JSON object. There is no field here.$"):
        check_body([1], {})


def test_the_nameless_and_wrong_methods_come_first(program: APIClient) -> None:
    assert call(APIClient(), "participants", "limits=5").status_code == 401
    assert call(program, "participants", "limits=5", "put").status_code == 405
    assert call(program, "participants", "limits=5", "options").status_code == 200


@pytest.mark.parametrize("debug", [False, True])
def test_an_address_without_its_slash_is_refused_to_what_would_change_something(
    program: APIClient, settings: Any, debug: bool
) -> None:
    settings.DEBUG = debug
    said = {"detail": "There is nothing at this address of the API. Addresses end with a slash."}
    for method in ("post", "put", "patch", "delete"):
        answer = getattr(program, method)("/api/v1/studies/teas/runs", {}, format="json")
        assert (answer.status_code, answer.json()) == (404, said)
    assert program.get("/api/v1/studies?limit=5").headers["Location"] == "/api/v1/studies/?limit=5"
    assert program.get("/api/v1/studies", follow=True).status_code == 200


def test_a_compressed_body_is_refused_and_not_read_as_if_it_were_not(program: APIClient) -> None:
    address = reverse("api:runs", kwargs={"slug": "teas"})
    for body in (gzip.compress(b"{}"), b"{}"):
        answer = program.post(address, body, content_type="application/json", HTTP_CONTENT_ENCODING="gzip")
        assert (answer.status_code, answer.json()) == (415, {"detail": "Send the body as it is, without gzip."})
    assert program.post(address, {}, format="json", HTTP_CONTENT_ENCODING="identity").status_code == 404


def test_the_api_itself_has_no_page(program: APIClient) -> None:
    assert program.get("/api/v1/").json() == {"detail": "There is nothing at this address of the API."}
