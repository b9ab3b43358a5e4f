"""Who arrives with Prolific's signature: by its keys, for this site, now, and about this visit."""

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from surveys.participation.prolific import Visit
from surveys.participation.signed_arrival import SHA256_INFO, is_signed
from surveys.studies.access import sign_link
from tests.factories import make_participant, make_study, make_visit

NOW = 1_795_000_000.0
# Two Mersenne primes: a key that nobody has to draw, and that protects nothing.
P, Q, E = 2**1279 - 1, 2**2203 - 1, 65537
N, D = P * Q, pow(E, -1, (P - 1) * (Q - 1))
VISIT = make_visit(1)


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def claims(visit: Visit = VISIT, **changes: Any) -> dict[str, Any]:
    named = {"participant_id": visit.pid, "study_id": visit.study_id, "submission_id": visit.session_id}
    return {"exp": NOW + 60, "aud": "https://study.example.org", "prolific": named | {"workspace_id": "w"}} | changes


def sign(content: dict[str, Any], head: dict[str, str] | None = None, modulus: int = N, private: int = D) -> str:
    head = {"alg": "RS256", "kid": "one"} | (head or {})
    signed = f"{encode(json.dumps(head).encode())}.{encode(json.dumps(content).encode())}"
    size = (modulus.bit_length() + 7) // 8
    digest = SHA256_INFO + hashlib.sha256(signed.encode()).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    signature = pow(int.from_bytes(padded, "big"), private, modulus).to_bytes(size, "big")
    return f"{signed}.{encode(signature)}"


def write_keys(path: Path, **keys: int) -> None:
    entries = [{"kty": "RSA", "use": "sig", "kid": name, "n": number(n), "e": number(E)} for name, n in keys.items()]
    path.write_text(json.dumps({"keys": entries}))


@pytest.fixture(autouse=True)
def key_file(tmp_path: Path, settings) -> Path:
    settings.SITE_URL, settings.PROLIFIC_KEY_SET = "https://study.example.org", str(tmp_path / "keys.json")
    write_keys(tmp_path / "keys.json", one=N)
    return tmp_path / "keys.json"


def test_visit_that_prolific_signed_is_taken() -> None:
    assert is_signed(sign(claims()), VISIT, NOW)
    assert is_signed(sign(claims(aud=["study.example.org"])), VISIT, NOW)


TOKEN = sign(claims())
HEAD, BODY, SIGNATURE = TOKEN.split(".")
UNSIGNED = encode(json.dumps({"alg": "none", "kid": "one"}).encode())


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "a.b",
        TOKEN[:-8] + "AAAAAAAA",
        f"{HEAD}.{encode(json.dumps(claims(exp=NOW + 9e9)).encode())}.{SIGNATURE}",
        f"{UNSIGNED}.{BODY}.",
        f"{HEAD}.{BODY}.{encode(b'0')}",
        sign(claims(), {"alg": "HS256"}),
        sign(claims(), {"kid": "another"}),
        sign(claims(exp=NOW - 61)),
        sign(claims(exp="soon")),
        sign(claims(aud="https://elsewhere.example.org")),
        sign(claims(make_visit(2))),
        sign(claims(make_visit(1, session_id="f" * 24))),
        sign(claims(prolific=None)),
        sign(claims(prolific={})),
        sign({}),
        "x" * 9_000,
    ],
)
def test_anything_else_proves_nothing(token: str) -> None:
    assert not is_signed(token, VISIT, NOW)


def test_keys_are_rotated_in_the_file(key_file: Path) -> None:
    other = (2**1279 - 1) * (2**2281 - 1)
    private = pow(E, -1, (2**1279 - 2) * (2**2281 - 2))
    write_keys(key_file, two=other)
    os.utime(key_file, ns=(1, 1))
    assert is_signed(sign(claims(), {"kid": "two"}, other, private), VISIT, NOW)
    assert not is_signed(TOKEN, VISIT, NOW)


def test_key_that_is_too_short_is_none(key_file: Path) -> None:
    write_keys(key_file, one=(2**521 - 1) * (2**607 - 1))
    os.utime(key_file, ns=(2, 2))
    assert not is_signed(TOKEN, VISIT, NOW)


@pytest.mark.django_db
def test_signed_arrival_with_another_session_comes_back_to_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    participant = make_participant(study, visit=make_visit(1))
    visit = make_visit(1, session_id="f" * 24)
    token = sign(claims(visit, exp=9e9))
    page = Client().get("/s/teas/", visit.as_parameters() | {"prolific_token": token})
    assert sign_link("teas", participant.pseudonym) in page.url
    page = Client().get("/s/teas/", visit.as_parameters() | {"prolific_token": token + "x"})
    assert sign_link("teas", participant.pseudonym) not in page.url
