"""A corpus's open work: runs about it and their cost, what waits for somebody, and the next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, Q

from analysis.models import Attribute, Completion, Corpus, CorpusStep, Endpoint, Run, Task
from analysis.people.funnel import conversations_to_ask, say_use_not_asked
from analysis.people.steps import NAMES, PeopleError
from surveys.models import AnnotationItem, Study
from surveys.studies.wording import plural

Status, State = Completion.Status, Run.State
GOING = (CorpusStep.State.WAITING, CorpusStep.State.RUNNING)
ASKED_OF_CONVERSATIONS = (NAMES.LANGUAGE, NAMES.ASSISTANT_USE, NAMES.EXTRACT)
VERDICTS = (NAMES.LANGUAGE, NAMES.ASSISTANT_USE)
FEW = 200  # up to so many conversations are looked at one by one
Steps = Mapping[str, Mapping[str, Any]]  # as reads.steps_of has them


@dataclass(frozen=True)
class AskingRun:
    """A run that asks about the corpus, and what has become of its calls and replies."""

    run: Run
    counts: dict[str, int]
    unreadable: int

    @property
    def task(self) -> str:
        """The name of its task: the instruction without its version."""
        instruction = self.run.instruction
        known = (name for name in NAMES.values if instruction.startswith(f"{name}-"))
        return next(known, instruction.rpartition("-")[0])

    @property
    def title(self) -> str:
        return NAMES(self.task).label if self.task in NAMES.values else self.run.instruction

    @property
    def calls(self) -> int:
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        return self.counts.get(Status.DONE, 0)

    @property
    def failed(self) -> int:
        return self.counts.get(Status.FAILED, 0)

    @property
    def left(self) -> int:
        return self.calls - self.done - self.failed

    @property
    def is_simulated(self) -> bool:
        return self.run.endpoint.provider == Endpoint.Provider.FAKE

    @property
    def action(self) -> str:
        """What its button does; a stopped run has none, as it needs a look, and maybe a budget, first."""
        usual = {State.RUNNING: "pause", State.PLANNED: "resume", State.PAUSED: "resume"}
        return usual.get(self.run.state, "")


def asking_runs(corpus: Corpus, account: Any, study: Study) -> list[AskingRun]:
    """The runs that the account may see here, newest first, in three queries."""
    shown = runs_about(corpus).filter(pk__in=Run.objects.shown_to(account, study).values("pk"))
    runs = list(shown.select_related("endpoint").order_by("-id"))
    counts: dict[int, dict[str, int]] = {}
    calls = Completion.objects.filter(run__in=runs).order_by().values_list("run", "status")
    for run, status, number in calls.annotate(count=Count("id")):
        counts.setdefault(run, {})[status] = number
    faults = Task.objects.filter(run__in=runs).exclude(fault="").order_by().values_list("run")
    unreadable = dict(faults.annotate(count=Count("id")))
    return [AskingRun(run, counts.get(run.pk, {}), unreadable.get(run.pk, 0)) for run in runs]


def runs_about(corpus: Corpus) -> Any:
    return Run.objects.filter(corpus=corpus, condition=Run.Condition.TASK)


def cost_of(runs: Sequence[AskingRun]) -> Decimal:
    """Dollars that these runs have cost so far."""
    return sum((asked.run.spent for asked in runs), Decimal(0))


class Due(NamedTuple):
    """One thing to do, in a sentence, with its step or its run."""

    step: str
    words: str
    run: int | None = None


class CorpusStanding:
    """The state of a corpus, read once."""

    def __init__(self, corpus: Corpus, steps: Steps, runs: Sequence[AskingRun]) -> None:
        self.corpus, self.steps, self.runs = corpus, steps, runs
        self.whole_funnel = self.is_done(NAMES.FILTER)
        self.names_users = corpus.conversations.exclude(user="").exists()
        self.use_not_asked = say_use_not_asked(corpus) if self.whole_funnel else ""
        self.not_yet: dict[str, str] = {}  # why some tasks cannot be asked about any conversation yet
        self.unasked = {task: self._unasked(task) for task in ASKED_OF_CONVERSATIONS}
        self.stale = {name: why for name in NAMES.values if (why := self._stale(name))}

    def is_done(self, name: str) -> bool:
        return name in self.steps and self.steps[name]["state"] == CorpusStep.State.DONE

    def began(self, name: str) -> Any:
        return self.steps[name]["row"].began_at

    def is_pushed(self) -> bool:
        """Whether items were pushed, also by the command, which notes no step."""
        return self.is_done(NAMES.PUSH) or AnnotationItem.objects.filter(corpus=self.corpus.name).exists()

    def is_asked(self, task: str) -> bool:
        return any(run.task == task for run in self.runs)

    def _unasked(self, task: str) -> int:
        """How many conversations no model was asked this about."""
        asked = Task.objects.filter(run__in=runs_about(self.corpus), run__instruction__startswith=f"{task}-")
        kept = asked.exclude(run__state=State.CANCELLED).values("conversation")
        try:
            rows = conversations_to_ask(self.corpus, task).exclude(pk__in=kept)
            number = rows.count()
        except PeopleError as fault:  # the funnel must first choose the users
            self.not_yet[task] = self.use_not_asked or str(fault)
            return 0
        return number if number > FEW else sum(map(_has_words, rows.values_list("messages", flat=True)))

    def _stale(self, name: str) -> str:
        """Why the result of a finished step no longer holds; empty if it does."""
        if not self.is_done(name):
            return ""
        if name == NAMES.FILTER:
            return self._stale_filter()
        if name == NAMES.MERGE:
            return self._stale_merge()
        if name == NAMES.PUSH and self.is_done(NAMES.SAMPLE) and self.began(NAMES.SAMPLE) > self.began(NAMES.PUSH):
            return "The sample was drawn anew after annotators got their items."
        return ""

    def _stale_filter(self) -> str:
        began = self.began(NAMES.FILTER)
        if self.is_done(NAMES.IMPORT) and self.steps[NAMES.IMPORT]["row"].ended_at > began:
            return "Conversations were imported after the filter."
        of_verdicts = Q()
        for name in VERDICTS:
            of_verdicts |= Q(run__instruction__startswith=f"{name}-")
        late = Task.objects.filter(of_verdicts, run__in=runs_about(self.corpus), read_at__gt=began, fault="")
        return f"{plural(number, 'verdict')} of models came after the filter." if (number := late.count()) else ""

    def _stale_merge(self) -> str:
        began = self.began(NAMES.MERGE)
        if self.whole_funnel and self.began(NAMES.FILTER) > began:
            return "The users were filtered after the last merge."
        late = Attribute.objects.filter(user__corpus=self.corpus, user__left_out_by="", created_at__gt=began)
        return f"{plural(number, 'attribute')} came after the last merge." if (number := late.count()) else ""


def _has_words(messages: list[dict[str, str]]) -> bool:
    """Whether the user says something; nothing is asked about other conversations."""
    return any(message["role"] == "user" and message["content"].strip() for message in messages)


def what_waits(now: CorpusStanding) -> list[Due]:
    """One line for each thing that somebody should see to, in the order of the steps, then of the runs."""
    waits = []
    for name, step in now.steps.items():
        label = NAMES(name).label
        if step["state"] == CorpusStep.State.FAILED:
            waits.append(Due(name, f"{label} failed: {step['row'].reason}"))
        elif step["state"] == "stopped":
            waits.append(Due(name, f"{label} was interrupted; start it again."))
        elif name in now.stale:
            waits.append(Due(name, f"{now.stale[name]} Do it again: {label.lower()}."))
    if now.names_users and now.use_not_asked and NAMES.FILTER not in now.stale:
        waits.append(Due(NAMES.ASSISTANT_USE, now.use_not_asked))
    for task in ASKED_OF_CONVERSATIONS:
        if now.unasked[task] and now.is_asked(task):
            number = plural(now.unasked[task], "conversation")
            waits.append(Due(task, f"{number} not asked about yet: {NAMES(task).label.lower()}."))
    return waits + [wait for run in now.runs for wait in _waits_of(run)]


def _waits_of(asked: AskingRun) -> list[Due]:
    run, about = asked.run, f"Run {asked.run.pk} ({asked.title.lower()})"
    said = []
    if run.state == State.STOPPED:
        said.append(f"{about} stopped with {plural(asked.left, 'call')} left: {run.reason}")
    elif run.state == State.PAUSED:
        said.append(f"{about} is paused with {plural(asked.left, 'call')} left.")
    elif run.state == State.PLANNED:
        said.append(f"{about} is planned and was not started.")
    if asked.unreadable:
        said.append(f"{plural(asked.unreadable, 'reply', 'replies')} of run {run.pk} could not be read.")
    if asked.failed and run.state != State.CANCELLED:
        said.append(f"{plural(asked.failed, 'call')} of run {run.pk} failed.")
    return [Due("", words, run.pk) for words in said]


def next_step(now: CorpusStanding) -> Due | None:
    """The one thing to do next; None while something is under way, or when all is done."""
    if any(step["state"] in GOING for step in now.steps.values()):
        return None
    some = Attribute.objects.filter(user__corpus=now.corpus)
    if now.names_users and (not now.whole_funnel or NAMES.FILTER in now.stale):
        return Due(NAMES.FILTER, now.stale.get(NAMES.FILTER) or "Decide who of its users is studied.")
    if now.names_users and now.use_not_asked and not some.exists():
        return Due(NAMES.ASSISTANT_USE, now.use_not_asked)
    if now.names_users and now.unasked[NAMES.EXTRACT] and (now.is_asked(NAMES.EXTRACT) or not some.exists()):
        number = plural(now.unasked[NAMES.EXTRACT], "conversation")
        return Due(NAMES.EXTRACT, f"{number} of kept users not asked about yet.")
    for asked in now.runs:
        if asked.task == NAMES.EXTRACT and asked.left and asked.run.state != State.CANCELLED:
            going = asked.run.state == State.RUNNING
            return None if going else Due("resume", f"Run {asked.run.pk} has not come to its end.", asked.run.pk)
    if not some.exists():
        nobody = "Its conversations name no users." if now.corpus.conversations.exists() else "It has no conversations."
        return None if now.names_users else Due(NAMES.IMPORT, nobody)
    if not now.is_done(NAMES.MERGE) or NAMES.MERGE in now.stale:
        return Due(NAMES.MERGE, now.stale.get(NAMES.MERGE) or "Make one attribute of those that say the same.")
    if not now.is_done(NAMES.SAMPLE):
        return Due(NAMES.SAMPLE, "Choose users spread from specialists to generalists.")
    if not now.is_pushed() or NAMES.PUSH in now.stale:
        return Due(NAMES.PUSH, now.stale.get(NAMES.PUSH) or "Hand the sample’s attributes to annotators.")
    return None
