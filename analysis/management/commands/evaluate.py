"""Test a trained model on labelled examples."""

from analysis.management.commands.train import VECTORS, format_figures
from analysis.people.corpora.embeddings import EmbeddingError
from analysis.training.examples import TrainingError, find_set
from analysis.training.using import evaluate_model, find_model
from surveys.studies.imports.actions import Action, Options, Report, arg, flag


class Command(Action):
    help = "Test a trained model beside baselines: on all examples, or on the test part where they came with a split."
    arguments = (
        arg("model"),
        VECTORS,
        arg("--examples", required=True, metavar="NAME", help="a set's name in import_examples"),
        flag("--all", "also of examples that came with a split"),
    )
    faults = (TrainingError, EmbeddingError)

    def run(self, options: Options) -> Report:
        model, examples = find_model(options["model"]), find_set(options["examples"])
        report = evaluate_model(model, examples, everything=options["all"], endpoint=options["endpoint"])
        for warning in report["warnings"]:
            self.stderr.write(f"Warning: {warning}")
        return report

    def tell(self, report: Report, options: Options) -> str:
        return format_figures(report)
