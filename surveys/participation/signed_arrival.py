"""Signed arrival: a JSON Web Token in the address, by which Prolific vouches for who comes."""

import json
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import jwt
from django.conf import settings

from surveys.participation.prolific import Visit

PARAMETER = "prolific_token"
LONGEST_TOKEN = 8_000
LEEWAY = 60  # seconds that two clocks may differ
FEWEST_BITS = 2048


def is_signed(token: str, visit: Visit) -> bool:
    """Whether Prolific signed this visit for this site, by a key of the set, and not too long ago."""
    if len(token) > LONGEST_TOKEN:
        return False
    try:
        # The algorithm is ours to choose: a token never says how it is to be checked.
        key = key_set()[jwt.get_unverified_header(token)["kid"]]
        ours = [settings.SITE_URL, urlsplit(settings.SITE_URL).hostname or ""]
        claims = jwt.decode(token, key, ["RS256"], {"require": ["exp"]}, audience=ours, leeway=LEEWAY)
        named = claims["prolific"]
        about = {value for value in named.values() if isinstance(value, str)}
    except (jwt.PyJWTError, KeyError, AttributeError, RecursionError, TypeError, ValueError):
        return False
    return {visit.pid, visit.study_id, visit.session_id} <= about and "workspace_id" in named


def key_set() -> dict[str, jwt.PyJWK]:
    """The public keys by their names, from the file that is set; read again when it changes. Empty without a file."""
    if not settings.PROLIFIC_KEY_SET:
        return {}
    path = Path(settings.PROLIFIC_KEY_SET)
    try:
        return read_keys(path, path.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=1)
def read_keys(path: Path, changed: int) -> dict[str, jwt.PyJWK]:
    entries = json.loads(path.read_text())["keys"]
    usable = [entry for entry in entries if entry.get("kty") == "RSA" and entry.get("use", "sig") == "sig"]
    keys = {}
    for entry in usable:
        with suppress(jwt.PyJWTError, KeyError, ValueError):  # one that cannot be read leaves the others as they are
            keys[entry["kid"]] = jwt.PyJWK(entry, "RS256")
    return {name: key for name, key in keys.items() if key.key.key_size >= FEWEST_BITS}
