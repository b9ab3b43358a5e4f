"""Background work: reading what is new."""

from celery import shared_task

from analysis.answers.readings import read_new
from surveys.models import Study


@shared_task
def read_answers(study_id: int) -> int:
    """Read every text of the study that has no answer yet."""
    return read_new(Study.objects.get(pk=study_id))
