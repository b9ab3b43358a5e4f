"""The users of a corpus: which filter left them out, what is concluded about them, and what was done when."""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from pgvector.django import VectorField

from analysis.models.corpora import DIMENSIONS, Conversation, Corpus
from surveys.models import check

LONGEST_ATTRIBUTE = 2_000  # characters


class CorpusUser(models.Model):
    """One user of a corpus as the funnel left them. Nobody who was left out is in the sample."""

    class Filter(models.TextChoices):
        LANGUAGE = "language", "Language"
        TEMPLATES = "templates", "Templates"
        ACTIVITY = "activity", "Activity"
        ASSISTANT_USE = "assistant-use", "Assistant use"

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="users")
    key = models.CharField(max_length=100, help_text="The source's hashed user, or the user of an imported attribute.")
    conversations = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(default=0, help_text="User messages, those without a reply too.")
    verdicts = models.JSONField(default=dict, help_text="By filter: whether the user is kept, why, and the figures.")
    left_out_by = models.CharField(max_length=13, choices=Filter, blank=True, help_text="The first filter that fails.")
    generalist = models.FloatField(null=True, help_text="Mean cosine distance between the user's own attributes.")
    band = models.PositiveSmallIntegerField(null=True, help_text="Fifth of the generalist score, from 1.")
    place = models.PositiveIntegerField(null=True, help_text="Place in the sample, from 1.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "key"], name="corpus_user_once"),
            models.UniqueConstraint(fields=["corpus", "place"], name="sample_place_once"),
            check("corpus_user_has_key", ~Q(key="")),
            check(
                "corpus_user_filter_known",
                Q(left_out_by__in=["", "language", "templates", "activity", "assistant-use"]),
            ),
            check("sampled_user_is_kept", Q(place__isnull=True) | Q(place__gte=1, band__range=(1, 5), left_out_by="")),
        ]
        indexes = [models.Index(fields=["corpus", "left_out_by", "id"], name="corpus_users_by_filter")]

    def __str__(self) -> str:
        return self.key


class ConversationVerdict(models.Model):
    """A model's verdict on one conversation, from 0 to 1; the funnel reads it if there is one."""

    class Question(models.TextChoices):
        LANGUAGE = "language", "All of it is in the wanted language"
        ASSISTANT_USE = "assistant-use", "The model is used as a personal assistant"

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="verdicts")
    question = models.CharField(max_length=13, choices=Question)
    language = models.TextField(blank=True, help_text="Which one was asked about, in small letters.")
    value = models.FloatField()
    source = models.CharField(max_length=200, blank=True, help_text="Which model said it, or which file.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "question", "language"], name="conversation_verdict_once"),
            check(
                "language_verdict_names_it",
                Q(question="language") & ~Q(language="") | ~Q(question="language") & Q(language=""),
            ),
            check("conversation_verdict_in_range", Q(value__range=(0, 1))),
            check("conversation_question_known", Q(question__in=["language", "assistant-use"])),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.question} {self.value:g}"


def take_back_merge(collector: Any, field: Any, members: Any, using: str) -> None:
    """Unmerge the members of a representative that is deleted: they are merged into nothing and have no cluster."""
    for name in ("cluster_confidence", "cluster_size", "merged_into"):
        collector.add_field_update(Attribute._meta.get_field(name), None, members)


class Attribute(models.Model):
    """One statement about a user, as it was extracted. `merged_into` is the attribute that stands for it."""

    class LeftOut(models.TextChoices):
        CONFIDENCE = "confidence", "Too little confidence"
        SENSITIVE = "sensitive", "Sensitive"

    user = models.ForeignKey(CorpusUser, on_delete=models.CASCADE, related_name="attributes")
    conversation = models.ForeignKey(Conversation, null=True, on_delete=models.CASCADE, related_name="attributes")
    place = models.CharField(max_length=200, blank=True, help_text="What its file calls the conversation.")
    text = models.TextField()
    sha256 = models.CharField(max_length=64, help_text="Of the text, by which its vector is found.")
    confidence = models.FloatField(null=True, help_text="By the model's own word, from 0 to 1.")
    reasoning = models.TextField(blank=True)
    evidence = models.JSONField(
        default=list,
        help_text='[{"quote", "conversation": hash, "message", "start", "end"}]; null where it is not found.',
    )
    sensitive = models.JSONField(default=list, help_text="What it may touch: health, religion, origin, politics, sex.")
    generator = models.CharField(max_length=200, blank=True, help_text="The model that extracted it.")
    left_out_by = models.CharField(max_length=10, choices=LeftOut, blank=True)
    merged_into = models.ForeignKey(
        "self",
        null=True,
        on_delete=take_back_merge,
        related_name="members",
        help_text="Which attribute stands for it; itself, of a representative.",
    )
    cluster_size = models.PositiveIntegerField(null=True, help_text="Of representatives only.")
    cluster_confidence = models.FloatField(null=True, help_text="Of representatives only, from 0 to 1.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["sha256"], name="attributes_by_text")]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "conversation", "place", "generator", "sha256"],
                name="attribute_once",
                nulls_distinct=False,
            ),
            check("attribute_says_something", Q(text__regex=r"\S")),
            check("attribute_confidence_in_range", Q(confidence__isnull=True) | Q(confidence__range=(0, 1))),
            check("attribute_left_out_known", Q(left_out_by__in=["", "confidence", "sensitive"])),
            check("left_out_attribute_is_not_merged", Q(left_out_by="") | Q(merged_into__isnull=True)),
            check(
                "representative_has_cluster",
                Q(merged_into__isnull=False, merged_into=F("id"), cluster_size__isnull=False, cluster_size__gte=1)
                | Q(cluster_size__isnull=True, cluster_confidence__isnull=True),
            ),
            check(
                "cluster_confidence_in_range", Q(cluster_confidence__isnull=True) | Q(cluster_confidence__range=(0, 1))
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def unlocated(self) -> int:
        """The number of quotes that no conversation of the user holds."""
        return sum(quote["message"] is None for quote in self.evidence)


class TextVector(models.Model):
    """The sentence embedding of one text, of length 1, kept once however many attributes have it."""

    sha256 = models.CharField(max_length=64)
    model = models.CharField(max_length=100)
    vector = VectorField(dimensions=DIMENSIONS)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sha256", "model"], name="text_vector_once")]

    def __str__(self) -> str:
        return f"{self.sha256[:8]} {self.model}"


class CorpusStep(models.Model):
    """The last time that one step was done with the users of a corpus: settings, how far it is, and what came out."""

    class Name(models.TextChoices):
        """The steps, in the order in which a person's data goes through them."""

        IMPORT = "import", "Import"
        LANGUAGE = "language", "Language"
        FILTER = "filter", "Filter"
        ASSISTANT_USE = "assistant-use", "Assistant use"
        EXTRACT = "extract", "Extraction"
        MERGE = "merge", "Merge"
        SAMPLE = "sample", "Sample"
        CANDIDATES = "candidates", "Candidates"
        PUSH = "push", "Push"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="steps")
    name = models.CharField(max_length=13, choices=Name)
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    settings = models.JSONField(default=dict)
    report = models.JSONField(default=dict, help_text="What the command prints.")
    reason = models.TextField(blank=True, help_text="Why it failed.")
    share = models.FloatField(default=0, help_text="Of the work that is done, from 0 to 1.")
    started_by = models.CharField(max_length=150)
    began_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="corpus_step_once"),
            check(
                "corpus_step_known",
                Q(
                    name__in=[
                        *("import", "language", "filter", "assistant-use", "extract"),
                        *("merge", "sample", "candidates", "push"),
                    ]
                ),
            ),
            check("corpus_step_state_known", Q(state__in=["waiting", "running", "done", "failed"])),
            check("failed_step_says_why", Q(state="failed") & ~Q(reason="") | ~Q(state="failed")),
        ]

    def __str__(self) -> str:
        return f"{self.corpus_id} {self.name} {self.state}"
