"""Ask a study's prompts of a model, offline or with simulated users in front."""

from typing import Any

from django.core.management.base import CommandParser

from analysis.answers.readings import read_everywhere
from analysis.runs.commands import RunCommand, add_prompts_argument, add_run_arguments, execute, find_study


class Command(RunCommand):
    help = "Ask a study's prompts of an endpoint; running it again with more repeats sends only the new ones."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study")
        add_prompts_argument(parser)
        add_run_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        execute(options, self.stdout, version=find_study(options["study"]).current)
        read_everywhere()
