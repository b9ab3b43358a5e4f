"""Train a model on labelled examples."""

from dataclasses import fields

from analysis.models.training import ExampleSet, TrainingTask
from analysis.training.cards import number, say_tested, say_threshold
from analysis.training.examples import LEFT_OUT, TrainingError, find_set
from analysis.training.fitting import USUAL, TrainingSettings
from analysis.training.jobs import TrainingStopped, look, plan, train
from analysis.training.own_users import say_gain
from analysis.training.tiers.reasoning import find_language_model, reckon
from surveys.studies.imports.actions import Action, Argument, Options, ProgressLine, Report, arg, find_study, flag

TIERS = ("frozen", "encoder", "grpo")
SPLITS = ("users", "items", "groups", "paper")


NUMBERS = {
    "epochs": "times that each example is read",
    "batch": "examples a step",
    "rate": "learning rate",
    "tokens": "of both texts, or of the prompt, that are read",
    "threads": "that it may use",
    "rollouts": "grpo: replies to each prompt that are held against each other",
    "steps": "grpo: of learning; 0: as the epochs take",
    "reply": "grpo: tokens of a reply at most",
    "kl": "grpo: weight of the distance from the untrained model",
    "lora": "grpo: rank of the weights that learn; 0: all weights do",
    "memory": "grpo: GB of the GPU",
}
# For commands that use a trained model.
VECTORS = arg(
    "--endpoint",
    default="",
    metavar="NAME",
    help="the endpoint with the vectors that the model learned from, if it used one",
)
MAY_BE_0 = ("steps", "kl", "lora")


def number_argument(name: str, words: str) -> Argument:
    default, tiers = getattr(TrainingSettings, name), [tier for tier in USUAL if name in USUAL[tier]]
    usual = ", ".join(f"{USUAL[tier][name]:g} for {tier}" for tier in tiers) or f"{default:g}"
    return arg(f"--{name}", type=type(default), default=None if tiers else default, help=f"{words} (default {usual})")


class Command(Action):
    help = "Train a verifier, a relevance model or a reward model, and test it on groups that it never saw."
    arguments = (
        arg("study", nargs="?", help="a study of annotators, to learn from their labels"),
        arg("--examples", metavar="NAME", help="a set's name in import_examples, instead of a study"),
        arg("--task", required=True, choices=TrainingTask.values),
        arg("--tier", default="frozen", choices=TIERS),
        arg("--name", help="the model's name"),
        arg(
            "--split",
            default="",
            metavar="BY",
            help=f"divide anew by {', '.join(SPLITS)} (as the paper does), or corpus:NAME: that one is the test part",
        ),
        flag("--plain", "encoder: by itself, not what tier A leaves"),
        flag("--per-user", "say what a model of one user gains"),
        arg("--seeds", type=int, default=3, help="how many seeds to train, to see how much results vary (default 3)"),
        flag("--soft-labels", "learn shares of votes, not majorities"),
        arg("--positive-weight", type=float, help="weight of positive examples in the loss; the threshold is then 0.5"),
        arg("--threshold", type=float, metavar="SCORE", help="the score from which the model says yes"),
        arg(
            "--least-recall",
            type=float,
            metavar="SHARE",
            help="the threshold with the best precision that finds at least this share, instead of the best F1",
        ),
        arg("--folds", type=int, default=0, help="also cross-validate over this many parts of the groups"),
        arg(
            "--model",
            dest="base",
            default="",
            metavar="FOLDER",
            help="the weights to begin with (default: MiniLM, for grpo SmolLM2)",
        ),
        *(number_argument(name, words) for name, words in NUMBERS.items()),
        arg(
            "--endpoint",
            dest="embedder",
            default="",
            metavar="NAME",
            help="an endpoint with /embeddings for tier A's vectors, instead of the local model",
        ),
        flag("--dry-run", "only say what it would be trained on"),
        flag("--queue", "leave it to a worker"),
    )
    faults = (TrainingError, TrainingStopped)

    def run(self, options: Options) -> Report:
        usual = USUAL.get(options["tier"], USUAL["encoder"])
        given = {
            each.name: options[each.name] for each in fields(TrainingSettings) if options.get(each.name) is not None
        }
        return self.carry_out(TrainingSettings(**(usual | given)), options)

    def tell(self, report: Report, options: Options) -> str:
        return format_report(report)

    def carry_out(self, settings: TrainingSettings, options: Options) -> Report:
        if not 1 <= settings.seeds <= 20 or settings.folds in (1, 2) or not 0 <= settings.folds <= 20:
            raise TrainingError("--seeds takes 1 to 20, --folds 3 to 20.")
        if any(getattr(settings, name) < (0 if name in MAY_BE_0 else 1e-12) for name in NUMBERS):
            above = [f"--{name}" for name in NUMBERS if name not in MAY_BE_0]
            raise TrainingError(f"{', '.join(above)} must be above 0, --steps, --kl and --lora not below it.")
        self.check_aim(settings, options["task"])
        if settings.split and settings.split not in SPLITS and not settings.split.startswith(LEFT_OUT):
            raise TrainingError(f"--split takes {', '.join(SPLITS)} or {LEFT_OUT}NAME, not {settings.split}.")
        if settings.plain and options["tier"] != "encoder":
            raise TrainingError("--plain is for the tier encoder.")
        if bool(options["study"]) == bool(options["examples"]):
            raise TrainingError("Name what to learn from: a study, or --examples NAME.")
        source = find_study(options["study"]) if options["study"] else find_set(options["examples"])
        if options["tier"] == "grpo":
            memory = reckon(find_language_model(settings.base), settings)
            self.stderr.write(memory.describe(options["name"] or "It", settings))
        if options["dry_run"]:
            if isinstance(source, ExampleSet) and source.task != options["task"]:
                raise TrainingError(
                    f"The examples {source.name} are for the task {source.task}, not {options['task']}."
                )
            return look(source, options["task"], settings)
        if not options["name"]:
            raise TrainingError("Name the model: --name NAME.")
        look(source, options["task"], settings)  # before anything is planned
        model = plan(options["name"], options["task"], options["tier"], source, settings)
        if options["queue"]:
            return {"model": model.name, "state": model.state}
        with ProgressLine("percent", self.stderr._out) as progress:
            report = train(model, progress.show)
        for warning in report["warnings"]:
            self.stderr.write(f"Warning: {warning}")
        return report

    def check_aim(self, settings: TrainingSettings, task: str) -> None:
        said = [value for value in (settings.threshold, settings.least_recall) if value is not None]
        if len(said) > 1 or any(not 0 < value <= 1 for value in said) or settings.threshold == 1:
            raise TrainingError("Give --threshold, above 0 and below 1, or --least-recall, above 0 to 1, not both.")
        if said and task == TrainingTask.REWARD:
            raise TrainingError("A reward model has no threshold: it says which of two responses is better.")
        if settings.positive_weight is not None and settings.positive_weight <= 0:
            raise TrainingError("--positive-weight must be above 0.")


def format_report(report: Report) -> str:
    if "state" in report:
        return f"{report['model']} waits for a worker."
    if "baselines" not in report:
        parts = ", ".join(f"{name} {count['n']:,}" for name, count in report["parts"].items())
        return f"{report['n']:,} examples of {report['groups']:,} groups would be used: {parts}"
    return format_figures(report)


def format_figures(report: Report) -> str:
    """Format the figures of the model and its baselines, a line each."""
    names = [name for name in report["ci"] if name != "why" and name != "best_f1"]
    lines = [
        f"{report['model']}: {report['n']:,} examples of {report['groups']:,} groups, {report['positive']} is positive"
    ]
    for title, row in {report["model"]: report, **report["baselines"]}.items():
        numbers = "  ".join(f"{name} {number(row[name], row['ci'].get(name))}" for name in names)
        lines.append(f"{title:20.20} {numbers}")
    lines += filter(None, (say_tested(report), say_threshold(report)))
    lines += [say_gain(report["per_user"])] if "per_user" in report else []
    return "\n".join(lines)
