"""Makes the Celery application the current one wherever Django runs, so that tasks reach its broker."""

from django.apps import AppConfig

from fieldstudy.celery import app as celery_app


class FieldStudyConfig(AppConfig):
    name = "fieldstudy"
    celery_app = celery_app
