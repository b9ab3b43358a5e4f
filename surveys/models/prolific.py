"""Prolific's studies and submissions as last read, the ledger, and drafts, groups and messages there."""

from functools import cached_property
from math import ceil

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from surveys.models.participants import Participant
from surveys.models.studies import Study, check


class ProlificStudy(models.Model):
    """A study on Prolific as last read. It belongs to one study here, so that no two pay the same person."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_studies")
    prolific_id = models.CharField(max_length=64, unique=True)
    status = models.CharField(max_length=20, blank=True)
    reward = models.PositiveIntegerField(default=0, help_text="Cents.")
    currency = models.CharField(max_length=3, blank=True)
    places = models.PositiveIntegerField(default=0)
    read_at = models.DateTimeField(null=True, help_text="When all its submissions were last read.")
    fault = models.CharField(max_length=500, blank=True, help_text="Why the last reading failed.")

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "prolific studies"

    def __str__(self) -> str:
        return self.prolific_id


class Submission(models.Model):
    """A submission as Prolific has it. Keeps the PID only of people who agreed to take part here."""

    UNREWARDED = ("RETURNED", "TIMED-OUT")  # statuses in which Prolific does not pay the reward

    remote = models.ForeignKey(ProlificStudy, on_delete=models.PROTECT, related_name="submissions")
    submission_id = models.CharField(max_length=64, unique=True)
    pid = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=20)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    code = models.CharField(max_length=64, blank=True)
    reward = models.PositiveIntegerField(default=0, help_text="Cents that an approval pays.")
    bonus = models.PositiveIntegerField(default=0, help_text="Cents of all bonuses that Prolific shows.")
    excluded = models.BooleanField(default=False, help_text="Whether a rule left the person out when it was last read.")
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.submission_id

    @cached_property
    def ledger(self) -> list["Payment"]:
        return list(self.payments.all())

    def done(self, *kinds: str) -> bool:
        return any(entry.kind in kinds and entry.state == Payment.State.PAID for entry in self.ledger)

    @property
    def bonuses(self) -> int:
        """Cents of bonuses decided here (without those not done) or shown by Prolific, whichever is more."""
        entries = (entry for entry in self.ledger if entry.kind in Payment.BONUSES)
        return max(sum(entry.cents for entry in entries if entry.state not in Payment.UNPAID), self.bonus)

    def is_any(self, *states: str) -> bool:
        return any(entry.state in states for entry in self.ledger)


class Payment(models.Model):
    """One decision about one submission, and its outcome. Never sent before `sending` is committed."""

    class Kind(models.TextChoices):
        APPROVE = "approve", "Approve"
        ASK_RETURN = "ask_return", "Ask to return"
        SCREEN_OUT = "screen_out", "Pay the screen-out"
        BONUS = "bonus", "Bonus"
        TOP_UP = "top_up", "Top up to the promise"

    class State(models.TextChoices):
        DECIDED = "decided", "Decided, not sent yet"
        SENDING = "sending", "Being sent"
        UNKNOWN = "unknown", "Sent, no answer: waits to be read back"
        SENT = "sent", "Accepted, not shown yet"
        PAID = "paid", "Done, as Prolific shows"
        FAILED = "failed", "Not done"
        DROPPED = "dropped", "Not done, given up"
        WAIVED = "waived", "Not done, dismissed"

    BONUSES = (Kind.BONUS, Kind.TOP_UP)
    UNPAID = (State.FAILED, State.DROPPED, State.WAIVED)

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=10, choices=Kind)
    number = models.PositiveSmallIntegerField(default=1, help_text="From 1 within the kind.")
    cents = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.DECIDED)
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    note = models.CharField(max_length=300, blank=True, help_text="Why it was not done, or what is not known.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "kind", "number"], name="payment_once"),
            # Bonuses read back can be told apart only while no more than one of a submission's is open.
            models.UniqueConstraint(
                fields=["submission"],
                name="one_bonus_on_its_way",
                condition=Q(kind__in=["bonus", "top_up"], state__in=["sending", "unknown", "sent"]),
            ),
            check(
                "payment_sent_when_sent",
                Q(state__in=["decided", "failed", "dropped", "waived"]) | Q(sent_at__isnull=False),
            ),
            check("payment_kind_known", Q(kind__in=["approve", "ask_return", "screen_out", "bonus", "top_up"])),
        ]
        indexes = [
            models.Index(fields=["state"], name="open_payments", condition=~Q(state__in=["paid", "dropped", "waived"]))
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.submission}"


def fee_of(cents: int) -> int:
    """Prolific's fee for paying this, in whole cents, rounded up."""
    return ceil(cents * settings.PROLIFIC_FEE)


class ProlificDraft(models.Model):
    """The study on Prolific made from the study file; at most one.

    Written before the call is sent: while `prolific_id` is empty, Prolific may have made the study without our knowing.
    """

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="prolific_draft")
    prolific_id = models.CharField(max_length=64, blank=True)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.prolific_id or f"asked for by {self.asked_by}"


class ProlificGroup(models.Model):
    """A group on Prolific that is kept in step with people here: those invited to a study, or kept out of it."""

    class Kind(models.TextChoices):
        INVITED = "invited", "Invited"
        BLOCKED = "blocked", "Kept out"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_groups")
    kind = models.CharField(max_length=8, choices=Kind)
    prolific_id = models.CharField(max_length=64)
    sources = models.JSONField(default=list, help_text="Slugs of the studies whose people are in it.")
    members = models.PositiveIntegerField(default=0)
    kept_at = models.DateTimeField(null=True, help_text="When it was last brought into step.")
    fault = models.CharField(max_length=500, blank=True, help_text="Why the last attempt failed.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["study", "kind"], name="prolific_group_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.prolific_id}"


class ProlificMessage(models.Model):
    """One message of a template to one participant. Sent only once: without a reply nobody knows whether it arrived."""

    class State(models.TextChoices):
        ASKED = "asked", "Waits to be sent"
        SENDING = "sending", "Being sent"
        SENT = "sent", "Sent"
        UNKNOWN = "unknown", "Sent, no answer: look on Prolific"
        FAILED = "failed", "Not sent"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_messages")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="prolific_messages")
    template = models.CharField(max_length=20)
    state = models.CharField(max_length=8, choices=State, default=State.ASKED)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField(default=timezone.now)
    note = models.CharField(max_length=300, blank=True, help_text="Why it was not sent, or what is not known.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "template"], name="message_once", condition=~models.Q(state="failed")
            )
        ]

    def __str__(self) -> str:
        return f"{self.template} to {self.participant}"
