"""Signed arrival: a JSON Web Token in the address, by which Prolific vouches for who comes."""

import base64
import hashlib
import hmac
import json
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from surveys.participation.prolific import Visit
from surveys.reading.nesting import read_json

PARAMETER = "prolific_token"
LONGEST_TOKEN = 8_000
LEEWAY = 60  # seconds that two clocks may differ
FEWEST_BITS = 2048
# What stands before a SHA-256 in a signature by PKCS #1 v1.5 (RFC 8017, section 9.2).
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def is_signed(token: str, visit: Visit, now: float) -> bool:
    """Whether Prolific signed this visit for this site, by a key of the set, and not too long ago."""
    try:
        head, claims, signed, signature = read_token(token)
        # The algorithm is ours to choose: a token never says how it is to be checked.
        if head.get("alg") != "RS256" or head.get("kid") not in (keys := key_set()):
            return False
        return is_signed_by(keys[head["kid"]], signed, signature) and vouches_for(claims, visit, now)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def read_token(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Head, claims, what is signed, and the signature. Raises ValueError for what is no token."""
    if len(token) > LONGEST_TOKEN:
        raise ValueError("too long")
    head, claims, signature = token.split(".")
    return read_json(decode(head)), read_json(decode(claims)), f"{head}.{claims}".encode(), decode(signature)


def decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def is_signed_by(key: tuple[int, int], signed: bytes, signature: bytes) -> bool:
    """RSASSA-PKCS1-v1_5 with SHA-256: what the signature opens to is built anew and compared as a whole."""
    modulus, exponent = key
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = SHA256_INFO + hashlib.sha256(signed).digest()
    expected = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(number, exponent, modulus).to_bytes(size, "big"), expected)


def vouches_for(claims: dict[str, Any], visit: Visit, now: float) -> bool:
    """Whether the claims are about this visit to this site, and still hold."""
    audience = claims.get("aud")
    sites = audience if isinstance(audience, list) else [audience]
    named = claims["prolific"]
    about = {visit.pid, visit.study_id, visit.session_id} <= {
        value for value in named.values() if isinstance(value, str)
    }
    ours = {settings.SITE_URL, urlsplit(settings.SITE_URL).hostname}
    return about and "workspace_id" in named and bool(ours & set(sites)) and now < float(claims["exp"]) + LEEWAY


def key_set() -> dict[str, tuple[int, int]]:
    """The public keys by their names, from the file that is set; read again when it changes. Empty without a file."""
    if not settings.PROLIFIC_KEY_SET:
        return {}
    path = Path(settings.PROLIFIC_KEY_SET)
    try:
        return read_keys(path, path.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=1)
def read_keys(path: Path, changed: int) -> dict[str, tuple[int, int]]:
    keys = {}
    for key in json.loads(path.read_text())["keys"]:
        if key.get("kty") != "RSA" or key.get("use", "sig") != "sig":
            continue
        modulus, exponent = (int.from_bytes(decode(key[name]), "big") for name in ("n", "e"))
        if modulus.bit_length() >= FEWEST_BITS and exponent >= 3:
            keys[key["kid"]] = (modulus, exponent)
    return keys
