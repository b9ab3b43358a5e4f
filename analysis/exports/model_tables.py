"""The tables about models: prompts, questions, runs, and their calls with the replies."""

from collections.abc import Iterator

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf

from analysis.answers.compared import load_prompts
from analysis.exports.answer_tables import FAKE
from analysis.exports.codebook import (
    ExportColumn,
    ExportTable,
    Row,
    boolean,
    computed,
    integer,
    labels,
    moment,
    named,
    number,
    text,
)
from analysis.exports.people_tables import ORIGIN, Selection
from analysis.models import Completion, Run
from analysis.models.conditions import BY_NAME, DRAWN, IN_ROWS, RunSetting
from analysis.models.runs import ASIDE
from surveys.models import Prompt, Study
from surveys.studies.lifecycle import definition_of

Status = Completion.Status
PROMPTS = (
    text("prompt", "its name"),
    text("kind", "recommendation or choice"),
    integer("options", "number of options of a choice"),
    text("correct", "the right option; empty where there is none"),
    text("variant_of", "the prompt of which it is a noisy variant"),
    text("variant", "the name of the variant"),
)
QUESTIONS = (
    text("prompt", "its name, as the tables of people's answers have it"),
    text("benchmark", "the set"),
    text("item", "the question's own id"),
    text("subject", "its subject"),
    integer("options", "number of options"),
    text("correct", "the right option"),
)
WORDING = (
    text("title", "its title on pages"),
    integer("wanted", "items that are asked for; empty for choices", "items"),
    text("text", "what people copy and models are sent, in the newest wording"),
)


def setting_column(setting: RunSetting) -> ExportColumn:
    return {int: integer, bool: boolean}.get(setting.kind, text)(setting.name, setting.column)


RUNS = (
    integer("run", "its number"),
    text("source", "its name in every comparison: the condition, or what an imported file calls its source"),
    text("model", "the model that was asked"),
    text("benchmark", "the benchmark that it asks; empty: the study's prompts"),
    text("label", "what an imported file calls the run"),
    boolean("imported", "whether it was collected elsewhere"),
    boolean("simulated", "whether the answers are made up by a script"),
    number("temperature", "the temperature; empty when unknown"),
    *map(setting_column, IN_ROWS),
    setting_column(BY_NAME["users"]),
    integer("repeats", "draws of each prompt; of a sock puppet, of each prompt by each simulated user"),
    integer("seed", "seed of all random draws"),
    integer("first_run", "the run that it repeats on a later day"),
    moment("began_at", "when it began"),
    text("settings", "what else sets it apart, in words: the form of a benchmark's prompt, the endpoint's own fields"),
)
ORDER = (
    text("instruction", "how a judge or a task is asked, with its version"),
    text("state", "how far it is", labels(Run.State.choices)),
    number("usd", "what it has cost", "US dollars"),
    moment("ended_at", "when it ended"),
)
COMPLETION = (
    integer("run", "the run that it belongs to", path="run_id"),
    text("source", "the condition of the run, or what an imported file calls its source; judge, task: it asked "
         "about items or tasks", expression=lambda _: Coalesce(NullIf("run__imported_source", Value("")),
                                                               "run__condition")),
    text("model", "the model that was asked",
         expression=lambda _: Coalesce("run__endpoint__model", "run__imported_model")),
    boolean("simulated", "whether the answer is made up by a script",
            **computed(lambda provider: provider == FAKE, "run__endpoint__provider")),
    integer("user", "number of the simulated user, from 0; empty without one", path="user__index"),
    text("user_name", "what an imported file calls the simulated user", path="user__name"),
    integer("repeat", "the draw's number, from 0; of a simulated user, which of that user's repeats it is"),
    text("prompt", "the study's prompt that was asked", path="prompt__slug"),
    text("benchmark_item", "the benchmark's item that was asked", path="item__item"),
    text("task", "the item that a judge was asked about, or the name of the task in its run",
         expression=lambda _: Coalesce("task__annotation_item__key", "task__key")),
    text("status", "done or failed", {Status.DONE: "Done", Status.FAILED: "Failed"}),
    text("text", "the reply, unchanged", path="reply"),
    text("finish_reason", "why the model ended, as the provider says"),
    text("model_served", "the model that the provider says it used"),
    text("messages_sha256", "SHA-256 of the messages that were sent"),
    integer("included", "conversations or sentences in front that fitted"),
    integer("prompt_tokens", "tokens of the messages", "tokens"),
    integer("cached_tokens", "of those the ones that the provider had kept", "tokens"),
    integer("completion_tokens", "tokens of the answer", "tokens"),
    integer("latency_ms", "from sending to the last byte", "milliseconds"),
    number("usd", "what it cost", "US dollars", **computed(float, "cost")),
    text("error_kind", "what kind of failure it was"),
    text("error", "the failure in words"),
    moment("sent_at", "when the last attempt was sent"),
    moment("done_at", "when the answer was stored"),
)  # fmt: skip


def model_tables() -> Iterator[ExportTable]:
    study = named(ORIGIN, "study")
    yield ExportTable("prompts", "one prompt of the study", (*study, *PROMPTS, *WORDING), Prompts)
    asked = (*study, *QUESTIONS, *named(WORDING, "text"))
    yield ExportTable("questions", "one question of the set of which each person is asked some", asked, SetQuestions)
    yield ExportTable("runs", "one run of a model, or one import", (*study, *RUNS, *ORDER), RunRows)
    yield ExportTable(
        "completions", "one call of a model that was answered or failed", (*study, *COMPLETION), calls, 200
    )


class Prompts:
    """Every prompt in its newest wording, in the order of the study."""

    def __init__(self, study: Study, selection: Selection | None = None) -> None:
        self.study = study

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        known = definition_of(self.study.current_id).prompts if self.study.current_id else ()
        variants = {prompt.slug: prompt for prompt in known if prompt.variant_of}
        newest = load_prompts(self.study)[0]
        for prompt in sorted(newest.values(), key=lambda prompt: (prompt.version_id, prompt.position)):
            variant = variants.get(prompt.slug)
            yield {
                "prompt": prompt.slug,
                "kind": prompt.kind,
                "options": len(prompt.choices),
                "correct": prompt.answer,
                "variant_of": variant.variant_of if variant else "",
                "variant": variant.variant if variant else "",
                "title": prompt.title,
                "wanted": prompt.items,
                "text": prompt.text,
            }

    def count(self) -> int:
        return len(load_prompts(self.study)[0])


class SetQuestions:
    """The questions of the newest version's set, in its order; none in a study without a set."""

    def __init__(self, study: Study, selection: Selection | None = None) -> None:
        self.prompts = Prompt.objects.filter(version=study.current_id, is_drawn=True).order_by("position")
        matrix = definition_of(study.current_id).matrix if study.current_id else None
        self.subjects = {asked.item: asked.subject for asked in matrix.questions} if matrix else {}

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        for prompt in self.prompts.iterator(chunk_size=chunk_size):
            yield {
                "prompt": prompt.slug,
                "benchmark": prompt.benchmark,
                "item": prompt.benchmark_item,
                "subject": self.subjects[prompt.benchmark_item],
                "options": len(prompt.choices),
                "correct": prompt.answer,
                "text": prompt.text,
            }

    def count(self) -> int:
        return self.prompts.count()


def all_runs(study: Study, selection: Selection) -> QuerySet[Run]:
    """The study's runs, including judges and tasks, and benchmark runs without a study that are shared with it."""
    runs = Run.objects.of_study(study).filter(Q(study=study) | ~Q(condition__in=ASIDE))
    runs = runs if selection.pilot else runs.filter(pilot=False)
    return (runs if selection.simulated else runs.exclude(endpoint__provider=FAKE)).order_by("pk")


class RunRows:
    def __init__(self, study: Study, selection: Selection) -> None:
        self.rows = self.counted = all_runs(study, selection)

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        for run in self.rows.select_related("endpoint", *DRAWN).iterator(chunk_size=chunk_size):
            yield run_row(run)

    def count(self) -> int:
        return self.counted.count()


SAME_NAMES = (
    *("source", "model", "benchmark", "temperature", "settings", "users", "repeats"),
    *("seed", "instruction", "state", "ended_at"),
)


def run_row(run: Run) -> Row:
    return {
        "run": run.pk,
        "label": run.imported_run,
        "imported": run.condition == Run.Condition.IMPORTED,
        "simulated": run.endpoint is not None and run.endpoint.provider == FAKE,
        "first_run": run.first_run_id,
        "began_at": run.began_at or run.created_at,
        "usd": float(run.spent),
        **{name: getattr(run, name) for name in SAME_NAMES},
        **{setting.name: setting.of(run) for setting in IN_ROWS},
    }


def calls(study: Study, selection: Selection) -> QuerySet[Completion]:
    ended = Completion.objects.filter(status__in=[Status.DONE, Status.FAILED], run__in=all_runs(study, selection))
    return ended.order_by("id")
