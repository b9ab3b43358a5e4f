"""How models are asked, where somebody brought other words than the shipped ones."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

LONGEST_INSTRUCTION = 50_000  # characters
LONGEST_NAME = 20
SHORT = 8  # characters of the hash that stand in a label


class Instruction(models.Model):
    """The words for one task, or for judges. They never change, since what was sent is rebuilt from them."""

    task = models.CharField(max_length=20, help_text="As in extract or category; judge for what judges are told.")
    name = models.SlugField(max_length=LONGEST_NAME, help_text="By which it is chosen; the newest of a name is asked.")
    sha256 = models.CharField(max_length=64, help_text="Of the text; its beginning is the version.")
    text = models.TextField()
    file = models.CharField(max_length=200, help_text="The file's name.")
    added_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "name", "sha256"], name="instruction_once"),
            models.CheckConstraint(name="instruction_says_something", condition=Q(text__regex=r"\S")),
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.name}-{self.version}"

    @property
    def version(self) -> str:
        return self.sha256[:SHORT]
