"""The surveys app: everything a person does or is shown."""

from django.apps import AppConfig


class SurveysConfig(AppConfig):
    name = "surveys"
