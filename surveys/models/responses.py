"""Responses, read-backs of their readings, drafts, flags of the paste checks, and researchers' notes."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from surveys.models.participants import Participant
from surveys.models.studies import Prompt, Study, StudyVersion, check


class Response(models.Model):
    """One submitted revision of one answer. Rows are never changed; the newest accepted one counts."""

    # No indexes of their own: those below begin with the same columns.
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="responses", db_index=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="responses", db_index=False)
    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="responses")
    pilot = models.BooleanField()
    revision = models.PositiveIntegerField()
    accepted = models.BooleanField(help_text="False: the paste checks asked about it and the person went to fix it.")
    language = models.CharField(max_length=10, default="", help_text="Language in which the prompt was shown.")
    key = models.UUIDField(help_text="Idempotency key of the form; the same form sent twice is one revision.")
    text = models.TextField(help_text="To the letter, line ends as \\n.")
    html = models.TextField(blank=True, help_text="The clipboard's HTML flavour. Data, never rendered.")
    text_sha256 = models.CharField(max_length=64)
    evidence = models.JSONField(default=dict, help_text="How it was pasted; see capture.read_evidence.")
    personal = models.JSONField(default=dict, help_text="Counts of personal details: found, removed, kept.")
    rating = models.PositiveSmallIntegerField(null=True, help_text="What the person gave the answer, from 1 to 5.")
    is_unrated = models.BooleanField(default=False, db_default=False, help_text="They said that they can't say.")
    shown_at = models.DateTimeField(null=True, help_text="When the server sent the page.")
    submitted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "prompt", "revision"], name="revision_once"),
            models.UniqueConstraint(fields=["participant", "prompt", "key", "text_sha256"], name="form_sent_once"),
            check("rating_from_1_to_5", Q(rating__isnull=True) | Q(rating__range=(1, 5), is_unrated=False)),
        ]
        indexes = [models.Index(fields=["prompt", "text_sha256"])]

    def __str__(self) -> str:
        return f"{self.participant_id} {self.prompt_id} revision {self.revision}"


class ReadBack(models.Model):
    """The reading of a response, and the reply of the person who pasted it. Never changed."""

    class Verdict(models.TextChoices):
        RIGHT = "right", "Read right"
        CORRECTED = "corrected", "Corrected"
        UNSAID = "unsaid", "Shown, nothing said"

    class NoAnswer(models.TextChoices):
        ERROR = "error", "It showed an error"
        LIMIT = "limit", "It said that I have reached a limit"
        NOTHING = "nothing", "Nothing came, or it never ended"
        UNREACHED = "unreached", "I can't find it"  # the state of an arm

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="read_backs")
    rules_version = models.PositiveSmallIntegerField(help_text="Of the reader.")
    read_names = ArrayField(models.TextField(), default=list, help_text="As written, in the order of the text.")
    read_letter = models.CharField(max_length=1, blank=True)
    verdict = models.CharField(max_length=9, choices=Verdict)
    names = ArrayField(models.TextField(), default=list, help_text="What the answer names, as the person has it.")
    letter = models.CharField(max_length=1, blank=True)
    absent = ArrayField(models.TextField(), default=list, help_text="Those of `names` that the text does not hold.")
    no_answer = models.CharField(max_length=9, blank=True, choices=NoAnswer, help_text="Why the box was left empty.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["response", "rules_version"], name="read_back_once"),
            check(
                "read_back_verdict_fits",
                Q(verdict="corrected") & ~Q(names=F("read_names"), letter=F("read_letter"))
                | Q(verdict__in=["right", "unsaid"], names=F("read_names"), letter=F("read_letter")),
            ),
            check("read_back_of_one_kind", Q(read_names=[], names=[]) | Q(read_letter="", letter="")),
            check("read_back_absent_are_named", Q(absent__contained_by=F("names"))),
            check(
                "read_back_no_answer_names_nothing",
                Q(no_answer="")
                | Q(no_answer__in=["error", "limit", "nothing", "unreached"], verdict="right", names=[], letter=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.letter or ', '.join(self.names)}"


class Draft(models.Model):
    """A page's unsubmitted fields."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="drafts", db_index=False)
    step = models.CharField(max_length=80, help_text="`prompt:<slug>`, or the step's own name.")
    number = models.PositiveIntegerField(default=1, help_text="Goes up with each save; an older page is told so.")
    data = models.JSONField()
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "step"], name="draft_once")]

    def __str__(self) -> str:
        return f"{self.participant_id} {self.step}"


class Flag(models.Model):
    """A paste check's finding, and the person's decision about it."""

    class Outcome(models.TextChoices):
        SHOWN = "shown", "Shown, not decided yet"
        FIXED = "fixed", "Fixed"
        KEPT = "kept", "This is what I got"

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="flags", db_index=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="flags")
    check_name = models.CharField(max_length=30)
    check_version = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=6, choices=Outcome, default=Outcome.SHOWN)
    message = models.TextField(help_text="The sentence that was shown, in English.")
    shown_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "prompt", "check_name"], name="flag_once"),
            check("flag_outcome_known", Q(outcome__in=["shown", "fixed", "kept"])),
        ]

    def __str__(self) -> str:
        return f"{self.check_name} {self.outcome}"


class Note(models.Model):
    """A researcher's few words about a person, a response or a version; the database erases it with its subject."""

    LONGEST = 1000  # characters

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notes")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE, related_name="notes")
    response = models.ForeignKey(Response, null=True, on_delete=models.CASCADE, related_name="notes")
    version = models.ForeignKey(StudyVersion, null=True, on_delete=models.CASCADE, related_name="notes")
    text = models.CharField(max_length=LONGEST)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            check(
                "note_about_one_thing",
                Q(participant__isnull=False, response__isnull=True, version__isnull=True)
                | Q(participant__isnull=True, response__isnull=False, version__isnull=True)
                | Q(participant__isnull=True, response__isnull=True, version__isnull=False),
            ),
            check("note_says_something", ~Q(text="")),
        ]

    def __str__(self) -> str:
        return self.text[:50]
