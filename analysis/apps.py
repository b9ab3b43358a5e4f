"""The analysis app: everything a machine reads, generates or computes."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"
