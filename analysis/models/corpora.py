"""Conversations of real people as read from a corpus, their embeddings, and personas from which profiles are drawn."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from pgvector.django import VectorField

from analysis.models.owners import Owned
from surveys.models import check

DIMENSIONS = 384  # all-MiniLM-L6-v2


class Corpus(Owned):
    name = models.SlugField(max_length=50, unique=True)
    format = models.CharField(max_length=20, help_text="The importer that read it.")
    source = models.CharField(max_length=500, blank=True, help_text="Where the conversations come from.")
    licence = models.CharField(max_length=100, blank=True, help_text="Under which they may be used.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class Conversation(models.Model):
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="conversations")
    sha256 = models.CharField(max_length=64, help_text="Over its messages; importing it twice is one row.")
    source_id = models.CharField(max_length=200, blank=True)
    user = models.CharField(max_length=100, blank=True, help_text="The source's hashed user, empty when unknown.")
    language = models.CharField(max_length=30, blank=True)
    toxic = models.BooleanField(null=True, help_text="What the source says; null: nothing.")
    redacted = models.BooleanField(null=True, help_text="The source took personal details out; null: it does not say.")
    turns = models.PositiveIntegerField(help_text="User messages that have a reply.")
    characters = models.PositiveIntegerField()
    messages = models.JSONField(help_text='[{"role": "user"|"assistant"|"system", "content"}]')
    began_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["corpus", "sha256"], name="conversation_once")]
        indexes = [
            models.Index(fields=["corpus", "turns", "id"], name="conversation_by_turns"),
            models.Index(fields=["corpus", "user", "id"], name="conversation_by_user"),
        ]

    def __str__(self) -> str:
        return f"{self.corpus_id} {self.sha256[:8]}"


class ConversationRepeat(models.Model):
    """A repeat of the same messages, under another id or by another user: counted with its user, never drawn from."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="repeats")
    source_id = models.CharField(max_length=200)
    user = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=30, blank=True)
    began_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "source_id", "user"], name="conversation_repeat_once"),
            check("conversation_repeat_has_source", ~models.Q(source_id="")),
        ]
        indexes = [models.Index(fields=["user"], name="conversation_repeats_by_user")]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.source_id[:8]}"


class ConversationVector(models.Model):
    """A conversation's sentence embedding, of length 1, so that cosine similarity is a dot product."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="vectors")
    model = models.CharField(max_length=100)
    vector = VectorField(dimensions=DIMENSIONS)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "model"], name="vector_once")]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.model}"


class PersonaSet(Owned):
    name = models.SlugField(max_length=50, unique=True)
    source = models.CharField(max_length=500, blank=True, help_text="Where the personas come from.")
    licence = models.CharField(max_length=100, blank=True, help_text="Under which they may be used.")
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


class ErasedUser(models.Model):
    """Somebody who was erased from a corpus and stays out of later imports. The key itself is not kept."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="erased")
    salt = models.CharField(max_length=32, help_text="Random; one for the corpus.")
    digest = models.CharField(max_length=64, help_text="Of the corpus's name and the user's key, with the salt.")
    erased_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["corpus", "digest"], name="erased_user_once")]

    def __str__(self) -> str:
        return f"{self.corpus_id} {self.digest[:8]}"


class CorpusUpload(models.Model):
    """A file of conversations that comes through the browser, part by part, until a worker has read it."""

    corpus_name = models.CharField(max_length=50)
    format = models.CharField(max_length=20)
    source = models.CharField(max_length=500)
    licence = models.CharField(max_length=100)
    filename = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(help_text="Bytes that are to come.")
    whole_only = models.BooleanField(default=True, help_text="Import nothing where a record cannot be read.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+", help_text="Who sends it."
    )
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.corpus_name} {self.filename}"


class UploadPart(models.Model):
    upload = models.ForeignKey(CorpusUpload, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField(help_text="From 0.")
    file = models.CharField(max_length=200, help_text="Its name among the kept files.")
    size = models.PositiveIntegerField(help_text="Bytes.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="upload_part_once")]

    def __str__(self) -> str:
        return f"{self.upload_id} {self.number}"
