"""Background work of the surveys; each task takes ids and calls one rule."""

from celery import shared_task

from surveys.models import Study
from surveys.participation.places import release_expired


@shared_task
def release_places() -> int:
    """Give back expired places in every study, as people of an ended pilot are in a draft; return how many."""
    return sum(release_expired(study) for study in Study.objects.filter(current__isnull=False))
