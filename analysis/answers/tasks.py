"""Background tasks that read texts."""

from celery import shared_task

from analysis.answers.readings import read_everywhere, read_new
from surveys.models import Study, locks


@shared_task
def read_answers(study_id: int) -> int:
    """Read the study's unread texts, and anew those that other rules read."""
    return read_new(Study.objects.get(pk=study_id))


@shared_task
def read_new_texts() -> int:
    """Read new responses and completions, imported ones too, in every study; one worker at a time."""
    with locks.alone("read new texts") as is_mine:
        return read_everywhere() if is_mine else 0
