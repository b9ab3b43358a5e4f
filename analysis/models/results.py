"""Readings of texts, people's decisions about them, aliases, and computed results."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from analysis.models.runs import Completion, Endpoint
from surveys.models import Response, Study, check


class Answer(models.Model):
    """What one text says, by one version of the reading rules or, if `decided`, by a person."""

    response = models.OneToOneField(Response, null=True, on_delete=models.CASCADE, related_name="answer")
    completion = models.OneToOneField(Completion, null=True, on_delete=models.CASCADE, related_name="answer")
    items = ArrayField(models.TextField(), default=list, help_text="Normalised, in the order of the text.")
    names = ArrayField(models.TextField(), default=list, help_text="The same as they were written.")
    letter = models.CharField(max_length=1, blank=True, help_text="Of a choice; empty is unknown.")
    doubt = models.CharField(max_length=30, blank=True, help_text="Why the rules are not sure; see answers.DOUBTS.")
    rules_version = models.PositiveSmallIntegerField()
    decided = models.BooleanField(default=False, help_text="A person's decision stands; re-reading leaves it alone.")
    read_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            check(
                "answer_reads_one_text",
                Q(response__isnull=False, completion__isnull=True) | Q(response__isnull=True, completion__isnull=False),
            )
        ]
        indexes = [
            models.Index(fields=["rules_version"]),
            models.Index(fields=["doubt"], name="doubtful_answers", condition=Q(decided=False) & ~Q(doubt="")),
        ]

    def __str__(self) -> str:
        return self.letter or ", ".join(self.items)


class AnswerDecision(models.Model):
    """A person's decision about what a text says. Rows never change; the newest one that is not undone holds."""

    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="decisions")
    items = ArrayField(models.TextField(), default=list)
    names = ArrayField(models.TextField(), default=list)
    letter = models.CharField(max_length=1, blank=True)
    before = models.JSONField(help_text="What stood there: items, names, letter, rules_version.")
    undoes = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="undone_by")
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.answer_id}: {self.letter or ', '.join(self.items)}"


class SecondOpinion(models.Model):
    """A model's reading of a text, shown beside the answer, which it never replaces by itself."""

    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="opinions")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="opinions")
    items = ArrayField(models.TextField(), default=list)
    letter = models.CharField(max_length=1, blank=True)
    reply = models.TextField()
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["answer", "endpoint"], name="opinion_once")]

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.letter or ', '.join(self.items)}"


class AliasDecision(models.Model):
    """One step in a study's table of spellings. Its number is the table's version.

    Rows never change, except that spellings of nobody but people who withdrew are taken out.
    """

    class Action(models.TextChoices):
        ACCEPT = "accept", "One thing"
        REJECT = "reject", "Different things"
        SPLIT = "split", "Split again"
        UNDO = "undo", "Undone"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="alias_decisions")
    number = models.PositiveIntegerField(help_text="From 1, without gaps, in each study.")
    prompt = models.SlugField(max_length=50, help_text="Slug of the prompt whose items are meant.")
    action = models.CharField(max_length=6, choices=Action)
    spellings = ArrayField(models.TextField())
    item = models.TextField(help_text="What they stand for.")
    undoes = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="undone_by")
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="alias_decision_number_once"),
            check("alias_action_known", Q(action__in=["accept", "reject", "split", "undo"])),
            check(
                "undo_names_a_decision",
                Q(action="undo", undoes__isnull=False) | (~Q(action="undo") & Q(undoes__isnull=True)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.action} {self.item}"


class Alias(models.Model):
    """A spelling that counts as another one in the answers to one prompt: what the decisions add up to."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="aliases")
    prompt = models.SlugField(max_length=50)
    spelling = models.TextField()
    item = models.TextField()
    decision = models.ForeignKey(AliasDecision, on_delete=models.CASCADE, related_name="aliases")

    class Meta:
        verbose_name_plural = "aliases"
        constraints = [
            models.UniqueConstraint(fields=["study", "prompt", "spelling"], name="alias_spelling_once"),
            check("alias_differs", ~Q(spelling=F("item"))),
        ]

    def __str__(self) -> str:
        return f"{self.spelling} → {self.item}"


class MetricValue(models.Model):
    """A computed part of the report, kept under the fingerprint of everything that it was computed from."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="metric_values")
    name = models.CharField(max_length=50)
    fingerprint = models.CharField(max_length=64)
    value = models.JSONField()
    seconds = models.FloatField(help_text="How long it took.")
    computed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "name", "fingerprint"], name="metric_value_once")]

    def __str__(self) -> str:
        return f"{self.study_id} {self.name}"
