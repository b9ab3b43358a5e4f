"""Ask a model a study's prompts, offline or with simulated users in front."""

from analysis.answers.readings import read_everywhere
from analysis.runs.commands import PROMPTS, RUN_ARGUMENTS, RunAction, carry_out, find_study
from surveys.studies.imports.actions import Options, Report, arg


class Command(RunAction):
    help = "Ask a study's prompts of an endpoint; running it again with more repeats sends only the new ones."
    arguments = (arg("study"), PROMPTS, *RUN_ARGUMENTS)

    def run(self, options: Options) -> Report:
        report = carry_out(options, find_study(options["study"]).current)
        read_everywhere()
        return report
