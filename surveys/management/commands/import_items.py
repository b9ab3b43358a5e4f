"""Read the items that annotators will judge into a study."""

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from surveys.import_files import ImportFault
from surveys.item_files import import_items
from surveys.models import Study


class Command(BaseCommand):
    help = (
        "Import annotation items from a file of JSON lines (.jsonl) or a table (.csv). All of them or none; items "
        "that are there already are skipped. docs/annotation.md lists the keys of each kind."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path)
        parser.add_argument("--pilot", action="store_true", help="for the pilot's annotators only")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        path = options["file"]
        try:
            done = import_items(study, path, "command line", pilot=options["pilot"])
        except OSError as error:
            raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
        except ImportFault as fault:
            raise CommandError(f"{path}: nothing was imported. Faults: {fault.count}\n{fault}") from None
        report = {"study": study.slug, "pilot": options["pilot"], **vars(done)}
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        self.stdout.write("{study}: {items} items with {slots} slots, {skipped} already there".format(**report))
        if done.unlocated:
            self.stdout.write(f"{done.unlocated} quotes stand nowhere in their history; they are shown without a place")
