"""Everything a person does or is shown, as rows."""

from surveys.models.annotation import (
    Annotation,
    AnnotationItem,
    GateDecision,
    GateVerdict,
    History,
    Slot,
)
from surveys.models.participants import (
    AnonymousExit,
    ChatbotContext,
    Participant,
    Place,
    QuotaCell,
    Session,
)
from surveys.models.prolific import (
    Payment,
    ProlificDraft,
    ProlificGroup,
    ProlificMessage,
    ProlificStudy,
    Submission,
)
from surveys.models.responses import Draft, Flag, ReadBack, Response
from surveys.models.studies import (
    AuditEvent,
    BenchmarkItem,
    Membership,
    Prompt,
    Study,
    StudyVersion,
    WorkingCopy,
    base_slug,
)

__all__ = [
    "Annotation",
    "AnnotationItem",
    "AnonymousExit",
    "AuditEvent",
    "BenchmarkItem",
    "ChatbotContext",
    "Draft",
    "Flag",
    "GateDecision",
    "GateVerdict",
    "History",
    "Membership",
    "Participant",
    "Payment",
    "Place",
    "ProlificDraft",
    "ProlificGroup",
    "ProlificMessage",
    "ProlificStudy",
    "Prompt",
    "QuotaCell",
    "ReadBack",
    "Response",
    "Session",
    "Slot",
    "Study",
    "StudyVersion",
    "Submission",
    "WorkingCopy",
    "base_slug",
]
