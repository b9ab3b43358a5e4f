"""What Prolific sends with a participant, and where people go back to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.core import signing

PROLIFIC_ID = re.compile(r"[0-9A-Za-z]{24}")
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
