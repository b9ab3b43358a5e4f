"""Print the JSON Schema of study files, with which editors complete and check them."""

import json
from typing import Any

from django.core.management.base import BaseCommand

from surveys.studies.files.json_schema import DOCS, study_schema


class Command(BaseCommand):
    help = "Prints the JSON Schema of study files, for editors."
    requires_system_checks: tuple[str, ...] = ()

    def handle(self, *args: Any, **options: Any) -> None:
        schema = study_schema(DOCS.read_text(encoding="utf-8"))
        self.stdout.write(json.dumps(schema, ensure_ascii=False, indent=2))
