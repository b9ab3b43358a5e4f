"""Erase the list that connects pseudonyms with Prolific ids."""

from django.core.management.base import CommandError

from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, flag
from surveys.studies.lifecycle import StudyError, erase_prolific_ids


class Command(StudyAction):
    help = "Replace the Prolific ids of a closed study with values that do not lead back to them. It can't be undone."
    arguments = (flag("--yes", "confirm that you mean it"),)
    faults = (StudyError,)
    words = "{study}: {erased:Prolific id} erased"

    def carry_out(self, study: Study, options: Options) -> Report:
        if not options["yes"]:
            raise CommandError("This can't be undone. Say --yes when all payments are settled.")
        return {"study": study.slug, "erased": erase_prolific_ids(study, ACTOR)}
