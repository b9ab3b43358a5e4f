"""Everything a person does or is shown, as rows."""

from surveys.models.audit import AuditEvent
from surveys.models.participants import (
    AnonymousExit,
    ChatbotContext,
    Participant,
    Place,
    QuotaCell,
    Session,
)
from surveys.models.responses import Draft, Flag, Response
from surveys.models.studies import BenchmarkItem, Membership, Prompt, Study, StudyVersion

__all__ = [
    "AnonymousExit",
    "AuditEvent",
    "BenchmarkItem",
    "ChatbotContext",
    "Draft",
    "Flag",
    "Membership",
    "Participant",
    "Place",
    "Prompt",
    "QuotaCell",
    "Response",
    "Session",
    "Study",
    "StudyVersion",
]
