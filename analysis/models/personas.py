"""Persona descriptions and descriptive sentences, from which profiles are drawn."""

from django.db import models
from django.utils import timezone


class PersonaSet(models.Model):
    name = models.SlugField(max_length=50, unique=True)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Persona(models.Model):
    """One line of a persona file: a description, or a group of sentences that describe one person."""

    set = models.ForeignKey(PersonaSet, on_delete=models.CASCADE, related_name="personas")
    sha256 = models.CharField(max_length=64)
    source_id = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    sentences = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["set", "sha256"], name="persona_once")]

    def __str__(self) -> str:
        return self.description[:60] or " ".join(self.sentences)[:60]
