"""Annotation items, the slots that make overlap exact, annotations, and who was kept after a pilot."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from surveys.models.participants import Participant
from surveys.models.studies import Study, StudyVersion, check


class History(models.Model):
    """A person's conversations as annotators see them: stored once, however many items are about them."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="histories")
    sha256 = models.CharField(max_length=64)
    conversations = models.JSONField(help_text="As payloads.read_history returns them.")
    characters = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "histories"
        constraints = [models.UniqueConstraint(fields=["study", "sha256"], name="history_once")]

    def __str__(self) -> str:
        return self.sha256[:8]


class AnnotationItem(models.Model):
    """A frozen snapshot of one thing to judge; with its history, all that the annotator sees. Never changed."""

    class Purpose(models.TextChoices):
        WORK = "work", "Work"
        TRAINING = "training", "Training"
        GOLD = "gold", "Gold"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="annotation_items")
    key = models.CharField(max_length=200, help_text="The item's name in its study.")
    pilot = models.BooleanField(default=False, help_text="For the pilot's annotators only.")
    kind = models.SlugField(max_length=50)
    purpose = models.CharField(max_length=8, choices=Purpose, default=Purpose.WORK)
    payload = models.JSONField(help_text="What is shown, without the history.")
    history = models.ForeignKey(History, null=True, on_delete=models.PROTECT, related_name="items")
    source = models.CharField(max_length=200, blank=True, help_text="By which the maker of the item finds it again.")
    cluster = models.CharField(max_length=200, blank=True, help_text="The user whom it is about.")
    corpus = models.CharField(max_length=100, blank=True, help_text="Where the user is from: real or synthetic.")
    tags = models.JSONField(default=dict, help_text="What analyses group by and nobody is shown.")
    gold = models.JSONField(default=dict, help_text="The right labels by field; of training and gold items only.")
    explanation = models.TextField(blank=True, help_text="Why, shown after a training item.")
    position = models.PositiveIntegerField(help_text="From 0, in the order of import.")
    sha256 = models.CharField(max_length=64, help_text="Over all of the above; an import repeated changes nothing.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "pilot", "key"], name="item_key_once"),
            models.UniqueConstraint(fields=["study", "position"], name="item_position_once"),
            check("item_purpose_known", Q(purpose__in=["work", "training", "gold"])),
            check("right_labels_outside_work", Q(purpose="work", gold={}) | ~Q(purpose="work") & ~Q(gold={})),
        ]
        indexes = [models.Index(fields=["study", "pilot", "purpose"])]

    def __str__(self) -> str:
        return self.key


class Slot(models.Model):
    """A seat for one label of an item: free, held until `held_until`, or done. Made with the item, never later.

    An annotator's label counts if, and only if, they hold a done slot of its item.
    """

    class Left(models.TextChoices):
        GENERIC = "generic", "Generic"
        PERSONALISED = "personalised", "Personalised"

    # For whichever side its annotator has had less often; of three slots there is one of each.
    EITHER = "either"

    item = models.ForeignKey(AnnotationItem, on_delete=models.CASCADE, related_name="slots")
    number = models.PositiveSmallIntegerField(help_text="From 0.")
    wanted = models.PositiveSmallIntegerField(help_text="How many labels the item wants.")
    side = models.CharField(
        max_length=12,
        choices=[*Left.choices, (EITHER, "Either")],
        blank=True,
        help_text="Which response is to stand on the left; empty for kinds without sides. Never changed.",
    )
    left = models.CharField(
        max_length=12, choices=Left, blank=True, help_text="Which response stands there for its annotator."
    )
    participant = models.ForeignKey(Participant, null=True, on_delete=models.SET_NULL, related_name="slots")
    taken_at = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["item", "number"]
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="slot_once"),
            models.UniqueConstraint(fields=["item", "participant"], name="one_slot_of_an_item"),
            check("slot_is_wanted", Q(number__lt=models.F("wanted"))),
            check("left_as_the_slot_says", Q(left="") | Q(side="either") | Q(left=models.F("side"))),
            check(
                "held_slot_has_holder",
                Q(
                    participant__isnull=True,
                    taken_at__isnull=True,
                    held_until__isnull=True,
                    done_at__isnull=True,
                    left="",
                )
                | Q(participant__isnull=False, taken_at__isnull=False, held_until__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["participant", "done_at"], name="slots_of_a_person"),
            models.Index(fields=["held_until"], name="open_slots", condition=Q(done_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} {self.number}"


class Annotation(models.Model):
    """The labels of one rater, a person or a model, for one item. Rows are never changed; the newest one counts."""

    class State(models.TextChoices):
        GIVEN = "given", "Given"
        SKIPPED = "skipped", "Skipped"
        WITHDRAWN = "withdrawn", "Taken back"

    item = models.ForeignKey(AnnotationItem, on_delete=models.PROTECT, related_name="annotations")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE, related_name="annotations")
    judge = models.CharField(max_length=150, blank=True, help_text="A model's name as a rater; empty for people.")
    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="annotations")
    revision = models.PositiveIntegerField(help_text="From 1, of this rater and item (and order shown, for models).")
    state = models.CharField(max_length=9, choices=State, default=State.GIVEN)
    key = models.UUIDField(help_text="Idempotency key of the form; the same form sent twice is one revision.")
    labels = models.JSONField(default=dict, help_text="By field, such as `quality` or `preference/a1`, as shown.")
    left = models.CharField(max_length=12, choices=Slot.Left, blank=True, help_text="Which response stood on the left.")
    reason = models.TextField(blank=True, help_text="Why it was skipped.")
    guidelines_version = models.CharField(max_length=300, blank=True)
    opened = models.JSONField(default=list, help_text="Numbers of the evidence snippets that were opened, from 1.")
    active_ms = models.PositiveIntegerField(null=True, help_text="Time with the page in use, by the page's own count.")
    trace = models.JSONField(default=dict, help_text="How it came to be, as annotation.labels.read_trace documents.")
    shown_at = models.DateTimeField(null=True, help_text="When the server sent the page.")
    detail = models.JSONField(default=dict, help_text="Of a model: temperature, prompt version, completion.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "item", "revision"], name="annotation_revision_once"),
            models.UniqueConstraint(fields=["participant", "key"], name="annotation_form_sent_once"),
            models.UniqueConstraint(
                fields=["judge", "item", "left", "revision"], name="judge_revision_once", condition=~Q(judge="")
            ),
            check(
                "annotation_has_one_rater",
                Q(participant__isnull=False, judge="") | Q(participant__isnull=True) & ~Q(judge=""),
            ),
            check("annotation_state_known", Q(state__in=["given", "skipped", "withdrawn"])),
            check("skipped_for_a_reason", ~Q(state="skipped") | ~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.judge or self.participant_id} {self.item_id} revision {self.revision}"


class GateDecision(models.Model):
    """A decision on the annotators kept, with its rule and reason. Never changed; a later decision supersedes it."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="gate_decisions")
    number = models.PositiveIntegerField(help_text="From 1 in each study.")
    pilot = models.BooleanField(help_text="Whether it was about the pilot's annotators.")
    rule = models.TextField(help_text="The rule in words.")
    thresholds = models.JSONField(help_text="The rule's figures.")
    reason = models.TextField()
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="gate_decision_once")]

    def __str__(self) -> str:
        return f"{self.study_id} decision {self.number}"


class GateVerdict(models.Model):
    """One person's verdict in one decision, with the figures behind it; deleted when the person withdraws."""

    decision = models.ForeignKey(GateDecision, on_delete=models.PROTECT, related_name="verdicts")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="verdicts")
    kept = models.BooleanField()
    note = models.CharField(max_length=500, blank=True, help_text="Why this person differs from the rule, if so.")
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["decision", "id"]
        constraints = [models.UniqueConstraint(fields=["decision", "participant"], name="verdict_once")]

    def __str__(self) -> str:
        return f"{self.participant_id} {'kept' if self.kept else 'excluded'}"
