"""Endpoints, runs, simulated users, tasks, instructions, and one row for each call."""

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from analysis.models import conditions
from analysis.models.conditions import CHOSEN, CONDITIONS, SAID, STORED
from analysis.models.corpora import Conversation
from analysis.models.owners import OfStudyOrOwnedQuerySet, Owned
from analysis.models.people import CorpusUser
from surveys.models import AnnotationItem, BenchmarkItem, Prompt, Study, StudyVersion, check

# Conditions of runs whose replies answer no prompt.
ASIDE = ("judge", "task")
# Instructions that told judges what people tend to say. No new run has one; labels of old runs are marked.
LEADING_INSTRUCTIONS = ("optimised-1",)


class EndpointQuerySet(models.QuerySet):
    def usable_in(self, studies: Iterable[Study] | models.QuerySet[Study]) -> "EndpointQuerySet":
        """Endpoints of these studies, those that others share with them, and the server's."""
        of_these = Q(study__in=studies) | Q(shared_with__in=studies)
        return self.filter(pk__in=self.filter(Q(study=None) | Q(shared=True) | of_these).values("pk"))

    def shown_to(self, user: Any, study: Study) -> "EndpointQuerySet":
        """Endpoints that the study may use; administrators see all."""
        return self.all() if user.is_superuser else self.usable_in([study])


class Endpoint(models.Model):
    """One model at one address. The key itself is never here: only the name of the variable that holds it.

    Owners of its study change it; other studies use it if it is shared with them. An endpoint without a study is the
    server's: all use it, its administrators change it.
    """

    class Provider(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        FAKE = "fake", "Scripted answers (simulated)"

    name = models.SlugField(max_length=50, unique=True)
    provider = models.CharField(max_length=10, choices=Provider, default=Provider.OPENAI)
    base_url = models.URLField(blank=True)
    model = models.CharField(max_length=200)
    key_env = models.CharField(max_length=100, blank=True)
    requests_per_minute = models.PositiveIntegerField(null=True)
    tokens_per_minute = models.PositiveIntegerField(null=True)
    concurrency = models.PositiveIntegerField(default=8)
    context_window = models.PositiveIntegerField(default=128_000, help_text="Tokens, prompt and reply together.")
    max_tokens = models.PositiveIntegerField(default=1024, help_text="Longest reply.")
    tokenizer = models.CharField(
        max_length=300, blank=True, help_text="Path of the model's tokenizer.json; empty: tokens are estimated."
    )
    price_in = models.DecimalField(max_digits=12, decimal_places=6, default=0, help_text="USD per million tokens.")
    price_out = models.DecimalField(max_digits=12, decimal_places=6, default=0, help_text="USD per million tokens.")
    extra = models.JSONField(default=dict, help_text="Fields added to each request's body.")
    json_schema = models.BooleanField(default=False, help_text="Ask for JSON by schema where the model offers it.")
    embeddings = models.BooleanField(default=False, help_text="It makes vectors of texts and answers no prompt.")
    study = models.ForeignKey(
        Study,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="endpoints",
        help_text="None: the server's.",
    )
    shared = models.BooleanField(default=False, help_text="All studies of this server may use it.")
    shared_with = models.ManyToManyField(Study, blank=True, related_name="shared_endpoints")
    created_at = models.DateTimeField(default=timezone.now)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            check("endpoint_concurrency", Q(concurrency__gt=0)),
            check("endpoint_provider", Q(provider__in=["openai", "fake"])),
        ]

    def __str__(self) -> str:
        return self.name


class Schedule(models.Model):
    """A plan that is repeated every so many days, to see drift; each repetition is a run of its own."""

    first_run = models.OneToOneField("Run", on_delete=models.CASCADE, related_name="schedule")
    every_days = models.PositiveIntegerField(default=7)
    next_at = models.DateTimeField()
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return "every day" if self.every_days == 1 else f"every {self.every_days} days"


class RunQuerySet(OfStudyOrOwnedQuerySet):
    def shown_to(self, account: Any, study: Study) -> Any:
        """Runs to show; those without a study need access to their sources too, since their calls show them."""
        rows = super().shown_to(account, study)
        for setting in CHOSEN:
            shown = setting.kind.objects.shown_to(account, study).values("pk")
            rows = rows.filter(Q(study=study) | Q(**{setting.name: None}) | Q(**{f"{setting.name}__in": shown}))
        return rows


class Run(Owned):
    # The registered conditions, and those of runs that ask no prompt in one of them.
    Condition: Any = models.TextChoices(
        "Condition",
        [
            *((slug.replace("-", "_").upper(), (slug, condition.label)) for slug, condition in CONDITIONS.items()),
            ("IMPORTED", ("imported", "Imported")),
            ("JUDGE", ("judge", "Judge")),
            ("TASK", ("task", "Task")),
        ],
    )

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        STOPPED = "stopped", "Stopped"
        CANCELLED = "cancelled", "Cancelled"
        DONE = "done", "Done"

    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="runs")
    version = models.ForeignKey(StudyVersion, null=True, on_delete=models.PROTECT, related_name="runs")
    benchmark = models.CharField(max_length=50, blank=True)
    endpoint = models.ForeignKey(Endpoint, null=True, on_delete=models.PROTECT, related_name="runs")
    condition = models.CharField(max_length=12, choices=Condition)
    imported_source = models.CharField(max_length=50, blank=True, help_text="What an imported file calls its source.")
    imported_model = models.CharField(max_length=200, blank=True)
    imported_run = models.CharField(max_length=100, blank=True, help_text="What an imported file calls this run.")
    imported_settings = models.CharField(
        max_length=200, blank=True, help_text="What an imported file says that sets this run apart."
    )
    texts_read = models.CharField(
        max_length=40, blank=True, help_text="By which rules how many replies there were when all had been read."
    )
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    reason = models.CharField(max_length=300, blank=True, help_text="Why it stopped, in one line.")
    prompts = models.JSONField(default=list, help_text="Slugs of the prompts that are asked; empty: all.")
    note = models.TextField(blank=True, help_text="What researchers want to remember of it.")
    temperature = models.FloatField(default=1.0, null=True, help_text="Null: an imported file does not say.")
    repeats = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField(default=0)
    vars().update({setting.name: setting.field() for setting in STORED})
    prompt_form = models.CharField(max_length=10, default="helm", help_text="Benchmarks: helm or bare.")
    worked_examples = models.BooleanField(default=False)
    instruction = models.CharField(
        max_length=50, blank=True, help_text="Of a judge or a task: name and version, as in same-1."
    )
    both_orders = models.BooleanField(default=False, help_text="A judge sees each response on the left once.")
    pilot = models.BooleanField(default=False, help_text="A judge of the pilot's items.")
    batch = models.BooleanField(default=False, help_text="Sent through the provider's batch API.")
    batch_ids = models.JSONField(default=list)
    budget = models.DecimalField(max_digits=12, decimal_places=6, null=True, help_text="USD.")
    reserved = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="USD of calls under way.")
    spent = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="USD of calls settled.")
    estimate = models.JSONField(default=dict, help_text="Calls, tokens and dollars as planned.")
    first_run = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="repetitions")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            check(
                "run_of_study_or_benchmark",
                Q(study__isnull=False, version__isnull=False)
                | ~Q(benchmark="")
                | Q(condition="task", corpus__isnull=False),
            ),
            check("run_condition_known", Q(condition__in=[*CONDITIONS, "imported", "judge", "task"])),
            check(
                "run_asked_or_imported",
                Q(condition="imported", endpoint__isnull=True) & ~Q(imported_source="")
                | ~Q(condition="imported") & Q(endpoint__isnull=False, imported_source=""),
            ),
            check("run_state_known", Q(state__in=["planned", "running", "paused", "stopped", "cancelled", "done"])),
            check(
                "run_judges_as_instructed",
                Q(
                    condition="judge",
                    study__isnull=False,
                    benchmark="",
                    corpus__isnull=True,
                    personas__isnull=True,
                    repeats=1,
                    users=1,
                )
                & ~Q(instruction="")
                | Q(condition="task", benchmark="", repeats=1, users=1, both_orders=False, pilot=False)
                & ~Q(instruction="")
                | ~Q(condition__in=ASIDE) & Q(instruction="", both_orders=False, pilot=False),
            ),
            check("run_of_study_or_owner", Q(study=None) | Q(owner=None)),
            check("run_spends_forward", Q(spent__gte=0)),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} {self.condition}"

    @property
    def registered(self) -> conditions.Condition | None:
        """The record of its condition; imported runs, judges and tasks have none."""
        return CONDITIONS.get(self.condition)

    @property
    def source(self) -> str:
        """Its name in every comparison: the condition, or what an imported file calls it."""
        return self.imported_source or self.condition

    @property
    def title(self) -> str:
        """What a page calls it: the condition's name, with a judge's instruction, or where it was imported from."""
        if self.imported_source:
            return f"Imported: {self.imported_source} {self.imported_run}".strip()
        leading = " (leading)" if self.instruction in LEADING_INSTRUCTIONS else ""
        return f"{self.get_condition_display()} {self.instruction}{leading}".strip()

    @property
    def model(self) -> str:
        return self.endpoint.model if self.endpoint else self.imported_model

    @property
    def is_simulated(self) -> bool:
        """Whether its answers are made up: nobody may take them for a model's."""
        return self.endpoint is not None and self.endpoint.provider == Endpoint.Provider.FAKE

    @property
    def author(self) -> str:
        """The author of its tasks' replies, named as a judge is; scripted ones say so."""
        return f"{self.endpoint.name} {self.instruction}{' (simulated)' if self.is_simulated else ''}"

    @property
    def users_differ(self) -> bool:
        """Whether its simulated users are units; those that a file names always are."""
        condition = CONDITIONS.get(self.condition)
        return condition is None or condition.users_differ(self.per_user)

    @property
    def asked_with(self) -> str:
        """In words, what a question is asked with, except model, temperature and what stands in front."""
        if self.endpoint is None:
            return self.imported_settings
        form = [self.prompt_form] if self.benchmark else []
        examples = ["worked examples"] if self.worked_examples else []
        return ", ".join([*form, *examples, *self.request_fields])

    @property
    def request_fields(self) -> list[str]:
        """Fields that each request carries; a scripted endpoint's `extra` is its script, not a setting."""
        extra = {} if self.is_simulated else self.endpoint.extra
        fields = [f"{name}={value}" for name, value in sorted(extra.items())]
        return ["JSON schema", *fields] if self.endpoint.json_schema else fields

    @property
    def settings(self) -> str:
        """`asked_with`, and what histories are drawn from: runs that differ in it are different sources."""
        drawn = [setting.words.format(value) for setting in SAID if (value := setting.of(self))]
        return ", ".join(filter(None, [self.asked_with, *drawn]))


class SimulatedUser(models.Model):
    """One sock puppet: what stands in front of all its prompts, by seed; in an imported run, only its name."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="simulated_users")
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True, help_text="What an imported file calls the simulated user.")
    recipe = models.JSONField(default=dict, help_text="Ids and hashes of what goes in, by condition.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="simulated_user_once")]

    def __str__(self) -> str:
        return f"{self.run_id} user {self.index}"


ASKED = ("prompt", "item", "task")


def _only(name: str) -> Q:
    return Q(**{f"{other}__isnull": other != name for other in ASKED})


class Completion(models.Model):
    """One call: planned before anything is sent, leased by a lane, and committed with its answer."""

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        LEASED = "leased", "In flight"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="completions")
    prompt = models.ForeignKey(Prompt, null=True, on_delete=models.PROTECT, related_name="completions")
    item = models.ForeignKey(BenchmarkItem, null=True, on_delete=models.PROTECT, related_name="completions")
    task = models.ForeignKey(
        "Task",
        null=True,
        on_delete=models.CASCADE,
        related_name="completions",
        db_index=False,  # `asked_tasks` is for the calls of tasks only
    )
    user = models.ForeignKey(SimulatedUser, null=True, on_delete=models.CASCADE, related_name="completions")
    repeat = models.PositiveIntegerField(help_text="The draw's number, from 0.")
    position = models.PositiveIntegerField(help_text="Order of sending: one user's calls stand next to each other.")
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    lane = models.CharField(max_length=40, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, help_text="When the last attempt was sent.")
    lost_answers = models.PositiveIntegerField(
        default=0, help_text="Attempts that may have been paid without an answer."
    )
    reserved = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    included = models.PositiveIntegerField(null=True, help_text="Conversations or sentences that fitted.")
    skipped = models.PositiveIntegerField(default=0, help_text="Conversations that alone exceed the window.")
    messages_sha256 = models.CharField(max_length=64, blank=True)
    reply = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    model_served = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    request_id = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="USD.")
    error = models.CharField(max_length=500, blank=True)
    error_kind = models.CharField(max_length=40, blank=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "prompt", "item", "task", "user", "repeat"], name="call_once", nulls_distinct=False
            ),
            check("call_asks_one_thing", _only("prompt") | _only("item") | _only("task")),
            check("call_status_known", Q(status__in=["pending", "leased", "done", "failed"])),
            check("leased_call_has_lease", ~Q(status="leased") | Q(lease_until__isnull=False)),
            check("done_call_has_time", ~Q(status="done") | Q(done_at__isnull=False)),
        ]
        indexes = [
            models.Index(fields=["run", "position"], name="open_calls", condition=Q(status__in=["pending", "leased"])),
            models.Index(fields=["run", "status"], name="calls_by_status"),
            models.Index(fields=["task"], name="asked_tasks", condition=Q(task__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} call {self.pk}"

    @property
    def asked(self) -> "Prompt | BenchmarkItem | Task":
        """What the call is about."""
        return self.prompt or self.item or self.task

    @property
    def asked_name(self) -> str:
        """The name that pages show for it."""
        if self.task:
            return self.task.annotation_item.key if self.run.condition == "judge" else self.task.key
        return self.prompt.title if self.prompt else self.item.item


class Task(models.Model):
    """One question to a model, and what its reply was read as, once: values, or why there are none."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tasks")
    key = models.CharField(max_length=200)
    # Whom and what it is about: it is deleted with them.
    conversation = models.ForeignKey(Conversation, null=True, on_delete=models.CASCADE, related_name="tasks")
    user = models.ForeignKey(CorpusUser, null=True, on_delete=models.CASCADE, related_name="tasks")
    annotation_item = models.ForeignKey(AnnotationItem, null=True, on_delete=models.CASCADE, related_name="tasks")
    payload = models.JSONField(default=dict, help_text="What its kind writes the messages from; never changed.")
    sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the messages as they were planned; empty: by a version without it."
    )
    values = models.JSONField(null=True)
    fault = models.CharField(max_length=300, blank=True)
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="task_once"),
            check(
                "read_task_has_values_or_says_why",
                Q(read_at__isnull=True, values__isnull=True, fault="")
                | Q(read_at__isnull=False, values__isnull=False, fault="")
                | Q(read_at__isnull=False, values__isnull=True) & ~Q(fault=""),
            ),
        ]
        indexes = [
            models.Index(fields=["key"], name="tasks_by_key"),
            models.Index(fields=["run"], name="unread_tasks", condition=Q(read_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return self.key


LONGEST_INSTRUCTION = 50_000  # characters
LONGEST_NAME = 20
SHORT = 8  # characters of the hash in a label


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
            check("instruction_says_something", Q(text__regex=r"\S")),
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.name}-{self.version}"

    @property
    def version(self) -> str:
        return self.sha256[:SHORT]
