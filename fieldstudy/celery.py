"""The Celery application: `celery -A fieldstudy worker`."""

import os

from celery import Celery
from django.conf import settings

from fieldstudy.embedded import servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
if not settings.configured:  # imported by the celery command itself; any other process has attached already
    servers.attach(by_hand=False)

app = Celery("fieldstudy")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "surveys.participation",
        "surveys.prolific",
        "surveys.simulation",
        "analysis.answers",
        "analysis.notices",
        "analysis.people",
        "analysis.plans",
        "analysis.report",
        "analysis.runs",
        "analysis.training",
    ]
)
