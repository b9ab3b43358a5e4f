"""Invitations to make an account: what each gives, and what became of it."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from surveys.models.studies import Membership, Study


class Invitation(models.Model):
    """One link for one person who has no account yet. Only its hash is kept; it opens once, until it expires."""

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
