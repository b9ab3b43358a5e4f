"""Database models: studies, participants, what they see and do, payments through Prolific, and the team."""

from surveys.models.annotation import Annotation, AnnotationItem, GateDecision, GateVerdict, History, Slot
from surveys.models.participants import (
    PROLIFIC_ID,
    AnonymousExit,
    ChatbotContext,
    Draw,
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
    fee_of,
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
    asked_of_all,
    base_slug,
)
from surveys.models.team import Invitation, Note, TeamRequest
