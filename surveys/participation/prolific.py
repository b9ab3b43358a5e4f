"""The ids that Prolific sends with a participant, its signature, and the address that people return to."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import jwt
from django.conf import settings
from django.core import signing

from surveys.models import PROLIFIC_ID

PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
COMPLETE = "https://app.prolific.com/submissions/complete"


@dataclass(frozen=True)
class Visit:
    """The three ids in the address that Prolific sends people to; SESSION_ID is Prolific's submission id."""

    pid: str
    study_id: str
    session_id: str

    def as_parameters(self) -> dict[str, str]:
        return dict(zip(PARAMETERS, (self.pid, self.study_id, self.session_id), strict=True))


def read_visit(parameters: Mapping[str, str]) -> Visit:
    """The visit in an address. Raises ValueError with the names of the ids that are missing or malformed."""
    values = [parameters.get(name, "").strip() for name in PARAMETERS]
    faults = [name for name, value in zip(PARAMETERS, values, strict=True) if not PROLIFIC_ID.fullmatch(value)]
    if faults:
        raise ValueError(", ".join(faults))
    return Visit(*values)


# Marks people that `simulate` plays; signed, so that nobody can mark themselves.
SIMULATED = signing.Signer(salt="simulated", sep="~")


def sign_simulated(pid: str) -> str:
    return SIMULATED.sign(pid)


def is_simulated(pid: str, mark: str) -> bool:
    try:
        return SIMULATED.unsign(mark) == pid
    except signing.BadSignature:
        return False


def completion_url(code: str) -> str:
    return f"{COMPLETE}?{urlencode({'cc': code})}"


# --- signed arrival: a JSON Web Token in the address, by which Prolific vouches for the visit ---

TOKEN_PARAMETER = "prolific_token"
LONGEST_TOKEN = 8_000
LEEWAY = 60  # seconds that two clocks may differ
FEWEST_BITS = 2048


def is_signed(token: str, visit: Visit) -> bool:
    """Whether Prolific signed this visit for this site with a key of the set, and the token has not expired."""
    if len(token) > LONGEST_TOKEN:
        return False
    try:
        # The algorithm is fixed here: a token never chooses how it is checked.
        key = key_set()[jwt.get_unverified_header(token)["kid"]]
        ours = [settings.SITE_URL, urlsplit(settings.SITE_URL).hostname or ""]
        claims = jwt.decode(token, key, ["RS256"], {"require": ["exp"]}, audience=ours, leeway=LEEWAY)
        named = claims["prolific"]
        about = {value for value in named.values() if isinstance(value, str)}
    except (jwt.PyJWTError, KeyError, AttributeError, RecursionError, TypeError, ValueError):
        return False
    return {visit.pid, visit.study_id, visit.session_id} <= about and "workspace_id" in named


def key_set() -> dict[str, jwt.PyJWK]:
    """The public keys by name, from the configured file; read again when it changes. Empty without a file."""
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
        with suppress(jwt.PyJWTError, KeyError, ValueError):  # an unreadable one does not affect the others
            keys[entry["kid"]] = jwt.PyJWK(entry, "RS256")
    return {name: key for name, key in keys.items() if key.key.key_size >= FEWEST_BITS}
