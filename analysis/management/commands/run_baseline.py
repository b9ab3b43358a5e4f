"""Ask a study's prompts of a model, offline or with simulated users in front."""

from django.core.management.base import BaseCommand, CommandError

from analysis.run_commands import add_run_arguments, execute
from surveys.models import Study


class Command(BaseCommand):
    help = "Ask a study's prompts of an endpoint; running it again with more repeats sends only the new ones."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        add_run_arguments(parser)

    def handle(self, *args, **options) -> None:
        study = Study.objects.select_related("current").filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']!r} ({known}). Load it with load_study.")
        if study.current is None:
            raise CommandError(f"{study.slug} has no prompts yet. Load its study file first.")
        execute(options, self.stdout, version=study.current)
