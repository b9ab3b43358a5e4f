"""Participants, their places, sessions and chatbots, and the anonymous count of those who refused or withdrew."""

import re

from django.db import models
from django.db.models import Q
from django.utils import timezone

from surveys.models.studies import Study, StudyVersion, check

PROLIFIC_ID = re.compile(r"[0-9A-Za-z]{24}")
# States that a person leaves only through recruitment.reopen; all others are open.
ENDED = ("completed", "screened_out", "over_quota", "misunderstood", "technical", "returned")


class QuotaCell(models.Model):
    """One chatbot × one group of people; it has as many places as Place rows."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cells")
    chatbot = models.SlugField(max_length=50)
    slug = models.SlugField(max_length=50)
    name = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["study", "position"]
        constraints = [models.UniqueConstraint(fields=["study", "chatbot", "slug"], name="cell_once")]

    def __str__(self) -> str:
        return self.name


class Participant(models.Model):
    class State(models.TextChoices):
        SCREENING = "screening", "Answering the first questions"
        ACTIVE = "active", "Working"
        COMPLETED = "completed", "Completed"
        SCREENED_OUT = "screened_out", "Screened out"
        OVER_QUOTA = "over_quota", "Over quota"
        MISUNDERSTOOD = "misunderstood", "Comprehension check or training failed twice"
        TECHNICAL = "technical", "Technical trouble"
        RETURNED = "returned", "Returned"
        TIMED_OUT = "timed_out", "Timed out"

    class Origin(models.TextChoices):
        PROLIFIC = "prolific", "Prolific"
        PREVIEW = "preview", "Preview"
        SIMULATED = "simulated", "Simulated"
        IMPORTED = "imported", "Imported"

    class Step(models.TextChoices):
        QUESTIONS = "questions", "Questions"
        BACKGROUND = "background", "More questions"
        INSTRUCTIONS = "instructions", "Instructions"
        COMPREHENSION = "comprehension", "Comprehension check"
        CONTEXT = "context", "Chatbot context"
        PROMPTS = "prompts", "Prompts"
        DEBRIEF = "debrief", "Debrief"
        END = "end", "End"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participants")
    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="participants")
    pid = models.CharField(max_length=64, help_text="Prolific's participant id; leaves only by an explicit export.")
    pseudonym = models.CharField(max_length=16, help_text="Random; stands for the person in pages and exports.")
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.PROLIFIC)
    pilot = models.BooleanField(default=False)
    state = models.CharField(max_length=14, choices=State, default=State.SCREENING)
    step = models.CharField(max_length=14, choices=Step, default=Step.QUESTIONS, help_text="Furthest step reached.")
    reason = models.CharField(max_length=200, blank=True, help_text="Why it ended as it did.")
    code = models.CharField(max_length=20, blank=True, help_text="Completion code shown at the end.")
    cell = models.ForeignKey(QuotaCell, null=True, on_delete=models.PROTECT, related_name="participants")
    overflow = models.BooleanField(default=False, help_text="Completed after the place was given away; paid.")
    language = models.CharField(max_length=10, default="en", help_text="Language of the pages.")
    consent_version = models.CharField(max_length=50)
    consent_language = models.CharField(max_length=10, default="", help_text="Language of the text that was agreed to.")
    consent_sha256 = models.CharField(max_length=64)
    consented_at = models.DateTimeField(default=timezone.now)
    answers = models.JSONField(default=dict, help_text="Screening, quota and background answers by question.")
    order = models.JSONField(default=list, help_text="Prompt slugs in the order drawn for this person.")
    order_number = models.PositiveIntegerField(null=True, help_text="Number that the order was drawn with.")
    checks = models.JSONField(default=dict, help_text="Answers to attention and comprehension checks.")
    comments = models.TextField(blank=True)
    last_seen_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "pid"], name="participant_once_per_study"),
            models.UniqueConstraint(fields=["study", "pseudonym"], name="pseudonym_once"),
            check("participant_state_known", Q(state__in=["screening", "active", *ENDED, "timed_out"])),
            check(
                "ended_people_have_an_end",
                Q(state__in=["screening", "active", "timed_out"], finished_at__isnull=True)
                | Q(state__in=[*ENDED], finished_at__isnull=False),
            ),
            check("completed_people_have_a_code", ~Q(state="completed") | Q(origin="imported") | ~Q(code="")),
            check("overflow_only_completed", Q(overflow=False) | Q(state="completed")),
        ]
        # No index on `last_seen_at`, which every autosave moves: so it writes only the row.
        indexes = [models.Index(fields=["study", "state"])]

    def __str__(self) -> str:
        return self.pseudonym

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_counted(self) -> bool:
        """Whether the person takes a place: previews, pilots and imported people never do."""
        return not self.pilot and self.origin not in (self.Origin.PREVIEW, self.Origin.IMPORTED)


class Place(models.Model):
    """One of a cell's places. Free without a participant, leased until `expires_at`, theirs once confirmed."""

    cell = models.ForeignKey(QuotaCell, on_delete=models.CASCADE, related_name="places")
    number = models.PositiveIntegerField(help_text="From 0; decides the row of the order scheme.")
    participant = models.OneToOneField(Participant, null=True, on_delete=models.SET_NULL, related_name="place")
    expires_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["cell", "number"]
        constraints = [
            models.UniqueConstraint(fields=["cell", "number"], name="place_once"),
            check(
                "held_place_has_holder",
                Q(participant__isnull=True, expires_at__isnull=True, confirmed_at__isnull=True)
                | Q(participant__isnull=False, expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cell} {self.number}"


class Draw(models.Model):
    """The number by which a place gets some of the set's questions: given once, for all who hold the place."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="draws")
    place = models.OneToOneField(Place, on_delete=models.CASCADE, related_name="draw")
    chatbot = models.SlugField(max_length=50, help_text="Each chatbot's people are asked the whole set.")
    number = models.PositiveIntegerField(help_text="From 0; the questions follow from it.")

    class Meta:
        ordering = ["study", "chatbot", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "chatbot", "number"], name="draw_once")]

    def __str__(self) -> str:
        return f"{self.chatbot} {self.number}"


class Session(models.Model):
    """One visit known to Prolific, where its SESSION_ID is the id of a submission."""

    class Rule(models.TextChoices):
        FIRST = "first", "First visit"
        RESUMED = "resumed", "Went on where they were"
        REOPENED = "reopened", "Had returned and took part again"
        AFTER_END = "after_end", "Saw their ending again"
        SITTING = "sitting", "Came for a further sitting"

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="sessions")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="sessions")
    session_id = models.CharField(max_length=64)
    prolific_study_id = models.CharField(max_length=64)
    rule = models.CharField(max_length=10, choices=Rule)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    prolific_status = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["study", "session_id"], name="session_once")]

    def __str__(self) -> str:
        return self.session_id


class ChatbotContext(models.Model):
    """The chatbot that a person really used, and its settings."""

    # Forms show labels of their own, translated (YES_NO and PLANS in participation/forms.py).
    class Plan(models.TextChoices):
        FREE = "free", "Free"
        PAID = "paid", "Paid"
        WORK = "work", "Through work or school"
        UNKNOWN = "unknown", "I don't know"

    class Switch(models.TextChoices):
        ON = "on", "On"
        OFF = "off", "Off"
        UNKNOWN = "unknown", "I don't know"

    class Chat(models.TextChoices):
        NEW = "new", "A new chat for each message"
        SAME = "same", "One chat for all messages"
        TEMPORARY = "temporary", "A temporary chat"

    class Device(models.TextChoices):
        COMPUTER = "computer", "Computer"
        PHONE = "phone", "Phone"
        TABLET = "tablet", "Tablet"

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="context")
    product = models.CharField(max_length=50)
    model_shown = models.CharField(max_length=100, blank=True)
    plan = models.CharField(max_length=10, choices=Plan)
    memory = models.CharField(max_length=10, choices=Switch)
    personalisation = models.CharField(max_length=10, choices=Switch)
    chat = models.CharField(max_length=10, choices=Chat)
    chat_language = models.CharField(max_length=50, blank=True)
    device = models.CharField(max_length=10, choices=Device)
    recorded_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.product} {self.model_shown}"


class AnonymousExit(models.Model):
    """The only record of somebody who did not consent or withdrew."""

    class Kind(models.TextChoices):
        NO_CONSENT = "no_consent", "No consent"
        WITHDRAWN = "withdrawn", "Withdrawn"

    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="anonymous_exits")
    kind = models.CharField(max_length=10, choices=Kind)
    origin = models.CharField(max_length=10, choices=Participant.Origin)
    pilot = models.BooleanField(default=False)
    step = models.CharField(max_length=14, blank=True, help_text="How far they had come.")
    day = models.DateField()

    def __str__(self) -> str:
        return f"{self.kind} {self.day}"
