"""The analysis app: everything a machine reads, generates or computes."""

from importlib import import_module

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        import_module("analysis.answers.kept")  # listens for people who are deleted
