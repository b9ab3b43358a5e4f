"""The Celery application: `celery -A fieldstudy worker`."""

import os
from logging.config import dictConfig
from typing import Any

from celery import Celery
from celery.signals import after_setup_logger
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


@after_setup_logger.connect
def log_as_everywhere(**given: Any) -> None:
    """Celery puts its own level and form in their place."""
    dictConfig(settings.LOGGING)
