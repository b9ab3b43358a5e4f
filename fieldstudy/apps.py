"""Wherever Django runs: tasks reach our Celery application's broker, and the pool hands out its newest first."""

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
