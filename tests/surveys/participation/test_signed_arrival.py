"""Arrivals signed by Prolific: with its keys, for this site, not expired, and about this visit."""

import base64
import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from surveys.participation.prolific import Visit, is_signed, read_keys
from surveys.studies.access import sign_link
from tests.factories import make_participant, make_study, make_visit

NOW = time.time()
VISIT = make_visit(1)


@cache
def private_key(name: str = "one", bits: int = 2048) -> RSAPrivateKey:
    return generate_private_key(65537, bits)


def claims(visit: Visit = VISIT, **changes: Any) -> dict[str, Any]:
    named = {"participant_id": visit.pid, "study_id": visit.study_id, "submission_id": visit.session_id}
    named["workspace_id"] = "w"
    return {"exp": int(NOW) + 3600, "aud": "https://study.example.org", "prolific": named} | changes


def sign(content: dict[str, Any], kid: str = "one", key: RSAPrivateKey | None = None) -> str:
    return jwt.encode(content, key or private_key(), "RS256", headers={"kid": kid})


def write_keys(path: Path, **keys: RSAPrivateKey) -> None:
    dumped = {name: RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) for name, key in keys.items()}
    path.write_text(json.dumps({"keys": [key | {"use": "sig", "kid": name} for name, key in dumped.items()]}))


@pytest.fixture(autouse=True)
def key_file(tmp_path: Path, settings) -> Path:
    settings.SITE_URL, settings.PROLIFIC_KEY_SET = "https://study.example.org", str(tmp_path / "keys.json")
    write_keys(tmp_path / "keys.json", one=private_key())
    return tmp_path / "keys.json"


def test_visit_that_prolific_signed_is_taken() -> None:
    assert is_signed(sign(claims()), VISIT)
    assert is_signed(sign(claims(aud=["study.example.org"])), VISIT)


def forge(claimed: dict[str, Any], signature: str) -> str:
    """A token with these claims, but with the head and signature of others."""
    body = base64.urlsafe_b64encode(json.dumps(claimed).encode()).rstrip(b"=").decode()
    return f"{sign(claims()).split('.')[0]}.{body}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "a.b",
        sign(claims())[:-8] + "AAAAAAAA",
        forge(claims(exp=NOW + 9e9), sign(claims()).split(".")[2]),
        jwt.encode(claims(), None, "none", headers={"kid": "one"}),
        forge(claims(), "MA"),
        jwt.encode(claims(), "a secret that everybody may know, of 32 bytes", "HS256", headers={"kid": "one"}),
        sign(claims(), "another"),
        sign(claims(), key=private_key("two")),
        jwt.encode(claims(), private_key(), "RS256"),
        sign(claims(exp=int(NOW) - 61)),
        sign(claims(exp="soon")),
        sign(claims(aud="https://elsewhere.example.org")),
        sign(claims(make_visit(2))),
        sign(claims(make_visit(1, session_id="f" * 24))),
        sign(claims(prolific=None)),
        sign(claims(prolific={})),
        sign({}),
        sign({name: value for name, value in claims().items() if name != "exp"}),
        "x" * 9_000,
    ],
)
def test_anything_else_proves_nothing(token: str) -> None:
    assert not is_signed(token, VISIT)


def test_keys_are_rotated_in_the_file(key_file: Path) -> None:
    write_keys(key_file, two=private_key("two"))
    os.utime(key_file, ns=(1, 1))
    assert is_signed(sign(claims(), "two", private_key("two")), VISIT)
    assert not is_signed(sign(claims()), VISIT)


@pytest.mark.parametrize("fault", [{"kid": None}, {"n": "!"}, {"n": None}, {"e": 7}, {"kid": "one", "n": ""}], ids=str)
def test_keys_that_cannot_be_read_leave_the_others(key_file: Path, fault: dict[str, Any]) -> None:
    (good,) = json.loads(key_file.read_text())["keys"]
    bad = {name: value for name, value in (good | {"kid": "bad"} | fault).items() if value is not None}
    key_file.write_text(json.dumps({"keys": [bad, good]}))
    os.utime(key_file, ns=(3, 3))
    read_keys.cache_clear()
    assert is_signed(sign(claims()), VISIT)


@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")
def test_key_that_is_too_short_is_none(key_file: Path) -> None:
    short = private_key("short", 1024)
    write_keys(key_file, one=short)
    os.utime(key_file, ns=(2, 2))
    assert not is_signed(sign(claims(), key=short), VISIT)


@pytest.mark.django_db
def test_signed_arrival_with_another_session_comes_back_to_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    participant = make_participant(study, visit=make_visit(1))
    visit = make_visit(1, session_id="f" * 24)
    token = sign(claims(visit))
    page = Client().get("/s/teas/", visit.as_parameters() | {"prolific_token": token})
    assert sign_link("teas", participant.pseudonym) in page.url
    page = Client().get("/s/teas/", visit.as_parameters() | {"prolific_token": token + "x"})
    assert sign_link("teas", participant.pseudonym) not in page.url
