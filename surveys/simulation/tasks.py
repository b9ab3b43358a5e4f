"""Background work: a rehearsal with simulated people."""

from celery import shared_task

from surveys.models import Study
from surveys.simulation.run import rehearse


@shared_task
def rehearse_study(study_id: int, people: int, seed: int, faults: bool, actor: str) -> None:
    rehearse(Study.objects.select_related("current").get(pk=study_id), people, seed, faults, actor)
