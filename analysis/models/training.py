"""Models that learn from people: labelled examples from files, and what was trained, on what, and how good it is."""

import json
from collections.abc import Sequence

from django.db import models
from django.db.models import Q
from django.utils import timezone

from analysis.models.owners import OfStudyOrOwnedQuerySet, Owned
from surveys.models import Study, check
from surveys.models.hashes import hash_text


class TrainingTask(models.TextChoices):
    VERIFIER = "verifier", "Verifier"
    RELEVANCE = "relevance", "Relevance"
    REWARD = "reward", "Reward"


class ExampleSet(Owned):
    """Labelled examples from a file, all for one task."""

    name = models.SlugField(max_length=50, unique=True)
    task = models.CharField(max_length=9, choices=TrainingTask)
    file = models.CharField(max_length=200, help_text="The file's name.")
    sha256 = models.CharField(max_length=64, help_text="Of the file.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [check("example_task_known", Q(task__in=["verifier", "relevance", "reward"]))]

    def __str__(self) -> str:
        return self.name


class Example(models.Model):
    """One pair of texts, or for reward of responses, and people's label of it, from 0 to 1."""

    set = models.ForeignKey(ExampleSet, on_delete=models.CASCADE, related_name="examples")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200, help_text="The file's id; the list in which attributes are ranked.")
    part = models.CharField(max_length=200, blank=True, help_text="The attribute's id.")
    group = models.CharField(max_length=200, help_text="What is independent of all others; in one part of the split.")
    split = models.CharField(max_length=20)
    context = models.TextField(blank=True, help_text="What was said before.")
    first = models.TextField(help_text="Evidence, or prompt.")
    second = models.TextField(help_text="Statement, attribute, or the first response.")
    third = models.TextField(blank=True, help_text="The second response.")
    label = models.FloatField(help_text="1: supported, relevant, the first response preferred.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["set", "key", "part"], name="example_once"),
            models.UniqueConstraint(fields=["set", "position"], name="example_position_once"),
            check("example_label_is_share", Q(label__range=(0, 1))),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.part}".strip()


class TrainedModel(Owned):
    """A model that was or is being trained. Its folder is known by the hash of all files in it."""

    class Tier(models.TextChoices):
        FROZEN = "frozen", "Frozen vectors"
        ENCODER = "encoder", "Fine-tuned encoder"
        GRPO = "grpo", "Reasoning model"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        STOPPED = "stopped", "Stopped"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    name = models.SlugField(max_length=50, unique=True)
    task = models.CharField(max_length=9, choices=TrainingTask)
    tier = models.CharField(max_length=7, choices=Tier)
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="trained_models")
    examples = models.ForeignKey(ExampleSet, null=True, on_delete=models.PROTECT, related_name="trained_models")
    settings = models.JSONField(default=dict)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    share = models.FloatField(default=0, help_text="Of the work that is done, from 0 to 1.")
    seconds = models.FloatField(default=0, help_text="Of work so far, over all times that it was begun.")
    curve = models.JSONField(default=list, help_text='[{"seed", "step", "loss", "valid"}]')
    reason = models.TextField(blank=True, help_text="Why it failed.")
    labels_sha256 = models.CharField(max_length=64, blank=True, help_text="Of examples with their labels.")
    split_sha256 = models.CharField(max_length=64, blank=True, help_text="Of which group lies in which part.")
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of all files of its folder.")
    metrics = models.JSONField(default=dict, help_text="What `train` prints.")
    started_by = models.CharField(max_length=150)
    began_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    objects = OfStudyOrOwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            check("trained_task_known", Q(task__in=["verifier", "relevance", "reward"])),
            check("trained_tier_known", Q(tier__in=["frozen", "encoder", "grpo"])),
            check("trained_state_known", Q(state__in=["waiting", "running", "stopped", "done", "failed"])),
            check(
                "trained_on_study_or_examples",
                Q(study__isnull=False, examples=None) | Q(study=None, examples__isnull=False),
            ),
            check("trained_of_study_or_owner", Q(study=None) | Q(owner=None)),
            check("failed_training_says_why", ~Q(state="failed") | ~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.state}"


class ReplyScore(models.Model):
    """How much a reward model likes one reply to one question of a benchmark, however many runs gave it.

    Only scores of replies to the same question can be compared.
    """

    model = models.ForeignKey(TrainedModel, on_delete=models.CASCADE, related_name="reply_scores", db_index=False)
    sha256 = models.CharField(max_length=64, help_text="Of the question with its choices, and the reply.")
    value = models.FloatField(help_text="Of two replies the difference is the logit of preferring the first.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "sha256"], name="reply_score_once")]

    def __str__(self) -> str:
        return f"{self.sha256[:8]} {self.value:.3f}"


def hash_reply(question: str, choices: Sequence[str], reply: str) -> str:
    """The key of a reply's scores; a question that an import changed is another one."""
    return hash_text(json.dumps([question, choices, reply]))
