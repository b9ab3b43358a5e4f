"""Background work: simulates a study's plan."""

from celery import shared_task

from analysis.plans.kept import keep_plan
from surveys.models import Study


@shared_task
def simulate_plan(study_id: int) -> None:
    keep_plan(Study.objects.select_related("current").get(pk=study_id))
