"""Studies, their frozen versions and prompts, members and requests, working copies, audit events, benchmark items."""

import re
from copy import copy

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone


def check(name: str, condition: Q) -> models.CheckConstraint:
    """A condition that the database checks for every row of a table."""
    return models.CheckConstraint(name=name, condition=condition)


class Study(models.Model):
    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        PILOT = "pilot", "Pilot"
        LIVE = "live", "Live"
        PAUSED = "paused", "Paused"
        CLOSED = "closed", "Closed"

    slug = models.SlugField(max_length=50, unique=True)
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    current = models.OneToOneField(
        "StudyVersion", null=True, on_delete=models.PROTECT, related_name="+", help_text="What people see now."
    )
    created_at = models.DateTimeField(default=timezone.now)
    launched_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    unblinded_at = models.DateTimeField(null=True, help_text="When an owner let blinded members see comparisons.")
    archived_at = models.DateTimeField(null=True, help_text="Folded away; nobody new can begin.")

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"
        constraints = [
            check("study_state_known", Q(state__in=["draft", "pilot", "live", "paused", "closed"])),
            check("study_launched_once_open", Q(state__in=["draft", "pilot"]) | Q(launched_at__isnull=False)),
            check("study_closed_when_closed", ~Q(state="closed") | Q(closed_at__isnull=False)),
            check("study_not_open_in_archive", Q(archived_at=None) | ~Q(state__in=["pilot", "live"])),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_launched(self) -> bool:
        return self.launched_at is not None

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.PILOT, self.State.LIVE)


class StudyVersion(models.Model):
    """A study as participants of one version see it, to the letter. Never changed after it is written."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    document = models.JSONField(help_text="The study file, with defaults and benchmark items filled in.")
    interface_sha256 = models.CharField(max_length=64, help_text="Hash of the participant's page templates.")
    sha256 = models.CharField(max_length=64, help_text="Hash over the document and the interface.")
    amendment = models.TextField(blank=True, help_text="Why it was changed after launch; empty before.")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=150, blank=True)
    frozen_at = models.DateTimeField(null=True, help_text="When the first real participant could see it.")

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="version_number_once")]

    def __str__(self) -> str:
        return f"{self.study.slug} version {self.number} ({self.sha256[:8]})"


class Prompt(models.Model):
    class Kind(models.TextChoices):
        RECOMMENDATION = "recommendation", "Recommendation"
        CHOICE = "choice", "Choice"

    version = models.ForeignKey(StudyVersion, on_delete=models.CASCADE, related_name="prompts")
    position = models.PositiveSmallIntegerField(help_text="Place in the study file, from 1.")
    slug = models.SlugField(max_length=50)
    kind = models.CharField(max_length=20, choices=Kind)
    title = models.CharField(max_length=200)
    text = models.TextField(help_text="The message that people copy.")
    items = models.PositiveSmallIntegerField(null=True, help_text="How many items a recommendation asks for.")
    choices = models.JSONField(default=list)
    answer = models.CharField(max_length=1, blank=True, help_text="The correct letter of a choice.")
    benchmark = models.CharField(max_length=50, blank=True)
    benchmark_item = models.CharField(max_length=200, blank=True)
    languages = models.JSONField(default=dict, help_text="By further language its own `title`, `text` and `choices`.")
    asks = models.CharField(max_length=50, blank=True, default="", help_text="The prompt that this asks once more.")
    arm = models.CharField(max_length=50, blank=True, default="", help_text="State of the account; empty: the usual.")
    occasion = models.PositiveSmallIntegerField(default=1, help_text="Which time in this state, from 1.")
    is_drawn = models.BooleanField(
        default=False, db_default=False, help_text="A question of a set, of which each person is asked some."
    )

    class Meta:
        ordering = ["version", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "slug"], name="prompt_slug_once"),
            models.UniqueConstraint(fields=["version", "position"], name="prompt_position_once"),
            check("prompt_kind_known", Q(kind__in=["recommendation", "choice"])),
            check(
                "prompt_asks_once_more_elsewhere",
                Q(asks="", arm="", occasion=1)
                | ~Q(asks="") & ~Q(asks=F("slug")) & (~Q(arm="", occasion=1) & Q(occasion__gte=1)),
            ),
            models.UniqueConstraint(
                fields=["version", "asks", "arm", "occasion"], name="asking_once", condition=~Q(asks="")
            ),
            check(
                "drawn_question_has_its_key",
                Q(is_drawn=False) | Q(kind="choice", asks="") & ~Q(benchmark_item="") & ~Q(answer=""),
            ),
            models.UniqueConstraint(
                fields=["version", "benchmark_item"], name="drawn_question_once", condition=Q(is_drawn=True)
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def base(self) -> str:
        """The slug of the prompt that is asked, whatever the arm and occasion."""
        return self.asks or self.slug

    @property
    def label(self) -> str:
        """The title, with the arm or occasion that sets it apart from the prompt itself."""
        how = self.arm or (f"occasion {self.occasion}" if self.asks else "")
        return f"{self.title} ({how})" if how else self.title

    def in_language(self, language: str) -> "Prompt":
        """The prompt as asked in this language: itself, or a copy that must never be saved."""
        if language not in self.languages:
            return self
        shown = copy(self)
        for name, words in self.languages[language].items():
            setattr(shown, name, words)
        return shown


def asked_of_all(way: str = "") -> Q:
    """Filter for prompts that everybody is asked: no repeats, no set questions; `way` is the lookup's prefix."""
    return Q(**{f"{way}asks": "", f"{way}is_drawn": False})


def base_slug(way: str = "") -> Coalesce:
    """`Prompt.base` in a query; `way` is the prefix that leads to the prompt."""
    return Coalesce(NullIf(f"{way}asks", Value("")), f"{way}slug", output_field=models.CharField())


class Membership(models.Model):
    """An account's role in a study."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        RESEARCHER = "researcher", "Researcher"
        VIEWER = "viewer", "Viewer"
        BLINDED = "blinded", "Blinded"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="member_once"),
            check("role_known", Q(role__in=["owner", "researcher", "viewer", "blinded"])),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role} of {self.study}"


class Invitation(models.Model):
    """A link for one person who has no account yet. Only its hash is kept; it works once, until it expires."""

    token_sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=100, blank=True, help_text="Whom it is for, as the inviter calls them.")
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=12, choices=Membership.Role, blank=True, help_text="In the study.")
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.CharField(max_length=150, blank=True, help_text="The name of the account that was made.")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            check(
                "invitation_to_a_role_or_to_make_studies",
                Q(study=None, role="") | Q(study__isnull=False, role__in=Membership.Role.values),
            ),
            check("invitation_used_or_revoked", Q(used_at=None) | Q(revoked_at=None)),
            check(
                "invitation_used_in_time",
                Q(used_at=None, used_by="") | (Q(used_at__lt=F("expires_at")) & ~Q(used_by="")),
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"

    @property
    def gives(self) -> str:
        """The new account's rights, in words."""
        return f"{self.get_role_display()} of {self.study.title}" if self.study else "Makes studies"


class TeamRequest(models.Model):
    """A request that a second person must confirm. Accounts named here can be closed but not deleted."""

    class What(models.TextChoices):
        LAUNCH = "launch", "Launch"
        PAY = "pay", "Pay"

    class State(models.TextChoices):
        WAITING = "waiting", "Waits for a second person"
        CONFIRMED = "confirmed", "Confirmed"
        DECLINED = "declined", "Declined"
        REPLACED = "replaced", "Asked anew"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="team_requests")
    what = models.CharField(max_length=6, choices=What)
    key = models.CharField(max_length=120, help_text="What is asked once at a time: a launch, one kind of payment.")
    detail = models.JSONField(default=dict, help_text="Exactly what is confirmed: a version's hash, a list of sums.")
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    answered_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was declined.")

    class Meta:
        ordering = ["id"]
        constraints = [
            check("request_answered_by_another", Q(answered_by__isnull=True) | ~Q(answered_by=F("asked_by"))),
            check(
                "request_answered_by_somebody",
                Q(state__in=["waiting", "replaced"], answered_by__isnull=True, answered_at__isnull=True)
                | Q(state__in=["confirmed", "declined"], answered_by__isnull=False, answered_at__isnull=False),
            ),
            check("request_declined_with_reason", ~Q(state="declined") | ~Q(reason="")),
            check("request_what_known", Q(what__in=["launch", "pay"])),
            models.UniqueConstraint(fields=["study", "key"], name="request_waits_once", condition=Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.key}, {self.state}"


class WorkingCopy(models.Model):
    """A study file that one account edits; nobody else sees it until it becomes a study or a version."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="working_copies")
    study = models.ForeignKey(
        Study, null=True, on_delete=models.CASCADE, related_name="working_copies", help_text="Whose next version it is."
    )
    origin = models.CharField(max_length=200, help_text="What it was begun from.")
    text = models.TextField(help_text="The file as it stands, comments included.")
    revision = models.PositiveIntegerField(default=1, help_text="Grows with each save, so that no window overwrites.")
    made_at = models.DateTimeField(default=timezone.now)
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-saved_at", "-pk"]
        verbose_name_plural = "working copies"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "study"], name="working_copy_once", condition=Q(study__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return f"{self.origin} ({self.owner})"

    @property
    def title(self) -> str:
        """The title in the text if it can be read, else the origin."""
        said = re.search(r'^title *= *"(.+)"', self.text, re.MULTILINE)
        return said[1] if said else self.origin


class BenchmarkItem(models.Model):
    benchmark = models.CharField(max_length=50)
    item = models.CharField(max_length=200, help_text="The benchmark's own id of the item.")
    subject = models.CharField(max_length=100, blank=True)
    question = models.TextField()
    choices = models.JSONField()
    answer = models.CharField(max_length=1)

    class Meta:
        ordering = [F("benchmark").asc(), F("id").asc()]
        constraints = [models.UniqueConstraint(fields=["benchmark", "item"], name="benchmark_item_once")]

    def __str__(self) -> str:
        return f"{self.benchmark} {self.item}"


class AuditEvent(models.Model):
    """A decision of a researcher or the system: append-only, hash-chained and signed."""

    # The database deletes events only with their study, and never deletes a study that was launched.
    study = models.ForeignKey(Study, on_delete=models.DO_NOTHING, related_name="audit_events")
    number = models.PositiveIntegerField(help_text="From 1, without gaps, in each study.")
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=150, help_text="An account's name, or `system`.")
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    key = models.CharField(max_length=16, default="", help_text="Name of the key that signed it; empty: unsigned.")
    sha256 = models.CharField(max_length=64, help_text="HMAC-SHA-256 under that key; of unsigned ones SHA-256.")

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="audit_number_once")]

    def __str__(self) -> str:
        return f"{self.number} {self.action}"
