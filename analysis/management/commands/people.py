"""From the users of a corpus to a sample with merged attributes: filter, ask, extract, merge, sample, push."""

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.core.management.base import CommandError, CommandParser

from analysis.endpoints.endpoints import find_endpoint
from analysis.endpoints.owners.sharing import lend
from analysis.management.corpus_action import PORTION, choose_embedder, find_corpus, portion_of, say_portion
from analysis.models import Corpus
from analysis.people.attributes import LEAST_CONFIDENCE
from analysis.people.corpora.embeddings import EmbeddingError
from analysis.people.funnel import FILTERS, FilterSettings, SettingError, filter_users
from analysis.people.merging import SIMILARITY, merge_attributes
from analysis.people.sampling import POOLS, RULES, SIZE, SampleDraw, sample_beside, sample_users
from analysis.people.stages.pairs import DEFAULTS, KIND, PairSettings, push_people
from analysis.people.stages.prompt_lists import ListedPrompt, is_list, prompts_of, read_prompts
from analysis.people.steps import ACTOR, PeopleError, Show
from analysis.runs.asking.plans import plan_conversations, plan_tasks
from analysis.runs.asking.registry import find_kind
from analysis.runs.asking.stages import candidate_tasks
from analysis.runs.commands import INSTRUCTION, TASK_ARGUMENTS, RunAction, execute_tasks, format_tasks
from analysis.runs.commands import find_study as find_study_with_prompts
from surveys.studies.imports import actions
from surveys.studies.imports.actions import Argument, Options, Report, arg, find_study, flag, pushing, reading
from surveys.studies.wording import fill

ASKED = ("language", "assistant-use", "candidates")


class Command(RunAction):
    help = "Find the people of a corpus who are studied, merge what is concluded about them, and sample them."
    faults = (PeopleError, SettingError, EmbeddingError)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", help="the corpus's name, as in import_corpus")
        steps = parser.add_subparsers(dest="step", required=True)
        for name, step in STEPS.items():
            options = steps.add_parser(name, help=step.words, description=step.words)
            for names, settings in step.arguments:
                options.add_argument(*names, **settings)
            options.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, options: Options) -> Report:
        step = STEPS[options["step"]]
        with actions.ProgressLine(step.counted, self.stderr._out) as progress:
            return step.run(find_corpus(options["corpus"]), options, progress.show)

    def tell(self, report: Report, options: Options) -> str:
        return STEPS[options["step"]].tell(report)

    def failure(self, report: Report) -> str:
        return str(report.get("stopped") or "")


class PeopleStep(NamedTuple):
    words: str
    counted: str  # what progress counts
    arguments: Sequence[Argument]
    run: Callable[[Corpus, Options, Show], Report]
    tell: Callable[[Report], str]


# --- filter -----------------------------------------------------------------


def setting_argument(each: Field) -> Argument:
    name, words = f"--{each.name.replace('_', '-')}", each.metadata["words"]
    if isinstance(each.default, bool):
        return flag(name, words)
    return arg(name, type=type(each.default), default=each.default, help=f"{words} (default {each.default})")


def run_filter(corpus: Corpus, options: Options, show: Show) -> Report:
    settings = FilterSettings(**{each.name: options[each.name] for each in fields(FilterSettings)})
    return filter_users(corpus, settings, show)


def format_filter(report: Report) -> str:
    lines = [f"{report['corpus']}: {report['users']:,} users, {report['user_messages']:,} user messages"]
    lines += [
        f"{FILTERS[step['name']].label:20} {-step['left_out']:>8,}  {step['left']:>8,} left" for step in report["steps"]
    ]
    return "\n".join(lines)


# --- ask, extract -----------------------------------------------------------


SAMPLED = arg("--sample", metavar="NAME", help="only the users of this further sample")
ASK = (
    arg("task", choices=ASKED, help="verdicts on conversations, which filter reads, or candidates"),
    arg("--prompts", metavar="FILE", help="candidates: what people might ask, one a line or JSON lines; or a study"),
    SAMPLED,
    *TASK_ARGUMENTS,
    INSTRUCTION,
)


def run_ask(corpus: Corpus, options: Options, show: Show) -> Report:
    kind = find_kind(options.get("task", "extract"), options["instruction"])
    if kind.conversations:
        for name in ("prompts", "sample"):
            if options.get(name):
                raise CommandError(f"--{name} is for candidates only: leave it out.")
        plan = partial(plan_conversations, kind, corpus, options["endpoint"])
    elif options["prompts"]:
        wanted = candidate_tasks(corpus, find_prompts(options["prompts"]), options["sample"] or "")
        plan = partial(plan_tasks, find_endpoint(options["endpoint"]), kind, wanted, corpus=corpus)
    else:
        raise CommandError(
            "candidates are asked for prompts: name a list of them, or the study that has them (--prompts)."
        )
    return execute_tasks(kind, plan, {"corpus": corpus.name}, options)


def find_prompts(named: str) -> list[ListedPrompt]:
    """Read the prompts of a file with a list, or of a study."""
    if not is_list(named):
        return prompts_of(find_study_with_prompts(named))
    with reading(Path(named)):
        return read_prompts(Path(named))


# --- merge, sample ----------------------------------------------------------


MERGE = (
    arg("--similarity", type=float, default=SIMILARITY, help=f"to join at (default {SIMILARITY})"),
    arg("--least-confidence", type=float, default=LEAST_CONFIDENCE, help=f"to count with (default {LEAST_CONFIDENCE})"),
    flag("--without-sensitive", "leave out what is marked as sensitive"),
    arg("--endpoint", help="an endpoint with /embeddings, instead of the local model"),
)


def run_merge(corpus: Corpus, options: Options, show: Show) -> Report:
    settings = options["similarity"], options["least_confidence"], options["without_sensitive"]
    return merge_attributes(corpus, choose_embedder(options["endpoint"]), *settings, show)


def format_merge(report: Report) -> str:
    line = "{corpus}: {attributes:attribute} of {users:user} became {merged:,} at similarity {similarity:g}; "
    line += "{pairs:,} pairs that contradict each other are kept apart, of {conflicting_users:user}"
    return fill(line, **report, pairs=sum(report["conflicts"].values()))


SAMPLE = (
    arg("--size", type=int, default=SIZE, help=f"users to choose (default {SIZE})"),
    arg("--seed", type=int, default=0),
    arg("--name", help="keep it by this name beside the sample that is studied"),
    arg("--by", choices=RULES, default=RULES[0], help="with --name: by chance, or the farthest points"),
    arg("--of", choices=POOLS, default=POOLS[0], help="with --name: of all, or of the sampled ones"),
)


def run_sample(corpus: Corpus, options: Options, show: Show) -> Report:
    if options["name"]:
        how = SampleDraw(options["size"], options["by"], options["of"], options["seed"])
        return sample_beside(corpus, options["name"], how, show)
    if (options["by"], options["of"]) != (RULES[0], POOLS[0]):
        raise CommandError("The sample that is studied has the farthest points of all; name another one: --name NAME.")
    return sample_users(corpus, options["size"], options["seed"], show)


def format_sample(report: Report) -> str:
    lines = [f"{report['corpus']}: {report['chosen']:,} of {report['eligible']:,} users chosen"]
    if "name" in report:
        rows = report["diversity"].items()
        return "\n".join([*lines, *(f"{name.replace('_', ' '):18} {write_distance(row)}" for name, row in rows)])
    for words, part in (("all", report["diversity"]), ("chosen", report["diversity_chosen"])):
        lines += [f"{name.replace('_', ' '):18} {words:7} {write_distance(row)}" for name, row in part.items()]
    return "\n".join(lines)


def write_distance(row: Report) -> str:
    if row["value"] is None:
        return "–"
    ends = " ({:.3f} to {:.3f})".format(*row["ci"]) if row["ci"] else ""
    return f"{row['value']:.3f}{ends}, {row['units']:,} users"


# --- push -------------------------------------------------------------------


PUSH = (
    arg(
        "--study",
        required=True,
        metavar="SLUG",
        help="a study of annotators with the kind attribute, or relevance for pairs of prompt and user",
    ),
    flag("--pilot", "for the pilot's annotators"),
    arg("--prompts", metavar="FILE", help="pairs: only for the prompts of this list or study"),
    arg("--by", metavar="NAME", default="", help="pairs: the endpoint that proposed the candidates"),
    arg("--users", type=int, default=DEFAULTS.users, help=f"pairs: users a prompt (default {DEFAULTS.users})"),
    arg("--least", type=int, default=DEFAULTS.least, help=f"pairs: fewest candidates (default {DEFAULTS.least})"),
    *PORTION,
    SAMPLED,
)


def run_push(corpus: Corpus, options: Options, show: Show) -> Report:
    study = find_study(options["study"])
    prompts = [prompt.text for prompt in find_prompts(options["prompts"])] if options["prompts"] else None
    settings = PairSettings(prompts, *(options[name] for name in ("by", "users", "least")))
    with pushing(study):
        pushed = push_people(corpus, study, pilot=options["pilot"], settings=settings, portion=portion_of(options))
    lend(corpus, study, ACTOR)  # its members see these people anyway
    return pushed


def format_push(report: Report) -> str:
    line = "{study}: {items:item} with {slots:slot} of {users:user} of {corpus}"
    if report.get("kind") == KIND:
        line += (
            " in {pairs:pair} with {prompts:prompt}; of {asked:,} pairs asked about {few:,} have too few"
            " candidates, {not_drawn:,} were not drawn, {not_studied:,} are of users who are no longer studied"
        )
    else:
        line += "; {without_evidence:,} attributes have no evidence to show"
    return fill(line, **report) + say_portion(report)


STEPS: dict[str, PeopleStep] = {
    "filter": PeopleStep(
        "Judge every user by language, scripted templates, activity and use as an assistant.",
        "users", tuple(map(setting_argument, fields(FilterSettings))), run_filter, format_filter,
    ),
    "ask": PeopleStep(
        "Let a model judge conversations, for the next filter.",
        "conversations", ASK, run_ask, format_tasks,
    ),
    "extract": PeopleStep(
        "Let a model list what the kept users' conversations say about them.",
        "conversations", (*TASK_ARGUMENTS, INSTRUCTION), run_ask, format_tasks,
    ),
    "merge": PeopleStep(
        "Merge attributes of one user that say the same.",
        "attributes", MERGE, run_merge, format_merge,
    ),
    "sample": PeopleStep(
        "Choose users spread from specialists to generalists, and say how diverse they are.",
        "users", SAMPLE, run_sample, format_sample,
    ),
    "push": PeopleStep(
        "Hand the sampled users' merged attributes, or pairs of prompt and user, to annotators.",
        "items", PUSH, run_push, format_push,
    ),
}  # fmt: skip
