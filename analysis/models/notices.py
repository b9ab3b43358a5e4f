"""Addresses for a study's news, what they were told of it, and how the last message went."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from surveys.models import Study, check


class NoticeAddress(models.Model):
    """A mail address or a webhook, of a study or of the server. Its secret is made from `salt`, never kept."""

    class Kind(models.TextChoices):
        MAIL = "mail", "Mail"
        WEBHOOK = "webhook", "Webhook"

    class Every(models.TextChoices):
        HOUR = "hour", "At most once an hour"
        DAY = "day", "At most once a day"

    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="notice_addresses")
    kind = models.CharField(max_length=7, choices=Kind)
    address = models.CharField(max_length=500)
    every = models.CharField(max_length=4, choices=Every, default=Every.HOUR)
    salt = models.CharField(max_length=64)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    told = models.JSONField(default=dict, help_text="By key of each piece of news how it stood when it was told.")
    told_at = models.DateTimeField(null=True, help_text="When the last message arrived.")
    fault = models.CharField(max_length=300, blank=True, help_text="Why the last try failed; empty: it did not.")
    tries = models.PositiveSmallIntegerField(default=0, help_text="That failed since the last message.")
    next_at = models.DateTimeField(default=timezone.now, help_text="Nothing is sent before.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "address"], name="notice_address_once", nulls_distinct=False
            ),
            check("notice_kind_known", Q(kind__in=["mail", "webhook"])),
            check("notice_every_known", Q(every__in=["hour", "day"])),
        ]

    def __str__(self) -> str:
        return f"notice address {self.pk}"
