"""Wherever Django runs, tasks reach the broker of our Celery application, and the pool hands out as we want it."""

from django.apps import AppConfig
from django.db import connection

from fieldstudy.celery import app as celery_app
from fieldstudy.pooled import hand_out_newest_first


class FieldStudyConfig(AppConfig):
    name = "fieldstudy"
    celery_app = celery_app

    def ready(self) -> None:
        if connection.pool:
            hand_out_newest_first(connection.pool)
