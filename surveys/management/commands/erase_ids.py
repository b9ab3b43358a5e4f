"""Erase the list that connects pseudonyms with Prolific ids."""

from django.core.management.base import BaseCommand, CommandError

from surveys.models import Study
from surveys.retention import erase_prolific_ids
from surveys.studies import StudyError


class Command(BaseCommand):
    help = "Replace the Prolific ids of a closed study by nothing that leads back to them. It can't be undone."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("--yes", action="store_true", help="really do it")

    def handle(self, *args, **options) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}.")
        if not options["yes"]:
            raise CommandError("This can't be undone. Say --yes when all payments are settled.")
        try:
            count = erase_prolific_ids(study, "command line")
        except StudyError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{study.slug}: {count} Prolific ids erased")
