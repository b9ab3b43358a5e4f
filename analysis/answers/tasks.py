"""Background work: reading what is new."""

from celery import shared_task

from analysis.answers.readings import read_everywhere, read_new
from surveys.models import Study, locks


@shared_task
def read_answers(study_id: int) -> int:
    """Read every text of the study that has no answer yet."""
    return read_new(Study.objects.get(pk=study_id))


@shared_task
def read_new_texts() -> int:
    """Read what people sent, runs completed and imports brought, in every study; one worker at a time."""
    with locks.alone("read new texts") as is_mine:
        return read_everywhere() if is_mine else 0
