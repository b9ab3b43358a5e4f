"""Requests to a second person, researchers' notes, and invitations."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from surveys.models.participants import Participant
from surveys.models.responses import Response
from surveys.models.studies import Membership, Study, StudyVersion


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
            models.CheckConstraint(
                name="request_answered_by_another",
                condition=Q(answered_by__isnull=True) | ~Q(answered_by=F("asked_by")),
            ),
            models.CheckConstraint(
                name="request_answered_by_somebody",
                condition=Q(state__in=["waiting", "replaced"], answered_by__isnull=True, answered_at__isnull=True)
                | Q(state__in=["confirmed", "declined"], answered_by__isnull=False, answered_at__isnull=False),
            ),
            models.CheckConstraint(name="request_declined_with_reason", condition=~Q(state="declined") | ~Q(reason="")),
            models.CheckConstraint(name="request_what_known", condition=Q(what__in=["launch", "pay"])),
            models.UniqueConstraint(fields=["study", "key"], name="request_waits_once", condition=Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.key}, {self.state}"


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
            models.CheckConstraint(
                name="note_about_one_thing",
                condition=Q(participant__isnull=False, response__isnull=True, version__isnull=True)
                | Q(participant__isnull=True, response__isnull=False, version__isnull=True)
                | Q(participant__isnull=True, response__isnull=True, version__isnull=False),
            ),
            models.CheckConstraint(name="note_says_something", condition=~Q(text="")),
        ]

    def __str__(self) -> str:
        return self.text[:50]


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
            models.CheckConstraint(
                name="invitation_to_a_role_or_to_make_studies",
                condition=Q(study=None, role="") | Q(study__isnull=False, role__in=Membership.Role.values),
            ),
            models.CheckConstraint(name="invitation_used_or_revoked", condition=Q(used_at=None) | Q(revoked_at=None)),
            models.CheckConstraint(
                name="invitation_used_in_time",
                condition=Q(used_at=None, used_by="") | (Q(used_at__lt=models.F("expires_at")) & ~Q(used_by="")),
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"

    @property
    def gives(self) -> str:
        """What the new account may do."""
        return f"{self.get_role_display()} of {self.study.title}" if self.study else "Makes studies"
