"""Addresses of the API, version 1."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from analysis import api, completion_api, run_api
from surveys.api import prolific_webhook

app_name = "api"
urlpatterns = [
    path("studies/", api.Studies.as_view(), name="studies"),
    path("studies/<slug:slug>/", api.OneStudy.as_view(), name="study"),
    path("studies/<slug:slug>/participants/", api.Participants.as_view(), name="participants"),
    path("studies/<slug:slug>/responses/", api.Responses.as_view(), name="responses"),
    path("studies/<slug:slug>/export/<slug:table>.<slug:kind>", api.ExportFile.as_view(), name="export"),
    path("studies/<slug:slug>/runs/", run_api.Runs.as_view(), name="runs"),
    path("studies/<slug:slug>/completions/", completion_api.Completions.as_view(), name="completions"),
    path("runs/<int:number>/", run_api.OneRun.as_view(), name="run"),
    path("runs/<int:number>/pause/", run_api.PauseRun.as_view(), name="pause-run"),
    path("runs/<int:number>/resume/", run_api.ResumeRun.as_view(), name="resume-run"),
    path("runs/<int:number>/cancel/", run_api.CancelRun.as_view(), name="cancel-run"),
    path("runs/<int:number>/retry/", run_api.RetryRun.as_view(), name="retry-run"),
    path("prolific/webhook/", prolific_webhook, name="prolific-webhook"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="api:schema", template_name="analysis/api_docs.html"),
        name="docs",
    ),
]
