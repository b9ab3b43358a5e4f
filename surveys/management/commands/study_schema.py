"""Print the JSON Schema of study files, with which editors complete and check them."""

import json

from surveys.studies.files.json_schema import DOCS, study_schema
from surveys.studies.imports.actions import Action, Options, Report


class Command(Action):
    help = "Prints the JSON Schema of study files, for editors."
    requires_system_checks: tuple[str, ...] = ()

    def run(self, options: Options) -> Report:
        return study_schema(DOCS.read_text(encoding="utf-8"))

    def as_json(self, report: Report) -> str:
        return json.dumps(report, ensure_ascii=False, indent=2)

    def tell(self, report: Report, options: Options) -> str:
        return self.as_json(report)
