"""What is kept for how long: the list that connects pseudonyms with Prolific ids can be erased for good."""

from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat

from surveys.access import audit
from surveys.models import Participant, Session, Study
from surveys.studies.lifecycle import StudyError, lock_study

ERASED = "erased-"


def erase_prolific_ids(study: Study, actor: str) -> int:
    """Replace every Prolific id of a closed study; returns how many people had one. It can't be undone.

    Nobody can resume, withdraw by their id or be paid by this list afterwards, hence only after closing.
    """
    with transaction.atomic():
        study = lock_study(study)
        if study.state != Study.State.CLOSED:
            raise StudyError(f"{study.slug} is not closed. Close it and settle all payments first.")
        people = Participant.objects.filter(study=study).exclude(pid__startswith=ERASED)
        count = people.update(pid=Concat(Value(ERASED), F("pseudonym")))
        Session.objects.filter(study=study).exclude(session_id__startswith=ERASED).update(
            session_id=Concat(Value(ERASED), Cast("pk", CharField())), prolific_study_id=""
        )
        audit.record(study, actor, "Prolific ids erased", people=count)
        return count
