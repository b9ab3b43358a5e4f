"""Database models: studies, participants and their answers, annotation, payments through Prolific, and the team."""

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
from surveys.models.responses import Draft, Flag, Note, ReadBack, Response
from surveys.models.studies import (
    AuditEvent,
    BenchmarkItem,
    Invitation,
    Membership,
    Prompt,
    Study,
    StudyVersion,
    TeamRequest,
    WorkingCopy,
    asked_of_all,
    base_slug,
    check,
)
