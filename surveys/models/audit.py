"""What researchers and the system decided: append-only and hash-chained."""

from django.db import models
from django.utils import timezone

from surveys.models.studies import Study


class AuditEvent(models.Model):
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="audit_events")
    number = models.PositiveIntegerField(help_text="From 1, without gaps, in each study.")
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=150, help_text="An account's name, or `system`.")
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="audit_number_once")]

    def __str__(self) -> str:
        return f"{self.number} {self.action}"
