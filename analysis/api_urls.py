"""Addresses of the API, version 1."""

from django.urls import path, re_path

from analysis.agreement import api as annotations
from analysis.exports import api as exports
from analysis.exports.refusals import NoSuchAddress
from analysis.people.pages import api as people
from analysis.report import api as metrics
from analysis.runs import api

urlpatterns = [
    path("studies/", exports.Studies.as_view(), name="studies"),
    path("studies/<slug:slug>/", exports.OneStudy.as_view(), name="study"),
    path("studies/<slug:slug>/participants/", exports.Participants.as_view(), name="participants"),
    path("studies/<slug:slug>/responses/", exports.Responses.as_view(), name="responses"),
    path("studies/<slug:slug>/export/everything.zip", exports.EverythingFile.as_view(), name="everything"),
    path("studies/<slug:slug>/export/<slug:table>.<slug:kind>", exports.ExportFile.as_view(), name="export"),
    path("studies/<slug:slug>/metrics/", metrics.Metrics.as_view(), name="metrics"),
    path("studies/<slug:slug>/figures/<slug:name>/", metrics.FigureSpec.as_view(), name="figure"),
    path("studies/<slug:slug>/annotations/", annotations.Annotations.as_view(), name="annotations"),
    path("studies/<slug:slug>/agreement/", annotations.AgreementNumbers.as_view(), name="agreement"),
    path("studies/<slug:slug>/push/<slug:name>/", people.PushItems.as_view(), name="push"),
    path("studies/<slug:slug>/people/", people.Corpora.as_view(), name="corpora"),
    path("studies/<slug:slug>/people/<slug:corpus>/", people.OneCorpus.as_view(), name="corpus"),
    path("studies/<slug:slug>/people/<slug:corpus>/users/", people.Users.as_view(), name="corpus-users"),
    path("studies/<slug:slug>/people/<slug:corpus>/attributes/", people.Attributes.as_view(), name="attributes"),
    path("studies/<slug:slug>/people/<slug:corpus>/runs/", api.CorpusRuns.as_view(), name="corpus-runs"),
    path(
        "studies/<slug:slug>/people/<slug:corpus>/runs/<int:number>/<slug:action>/",
        api.ChangeCorpusRun.as_view(),
        name="change-corpus-run",
    ),
    path(
        "studies/<slug:slug>/people/<slug:corpus>/ask/<slug:task>/",
        api.AskCorpus.as_view(),
        name="ask-corpus",
    ),
    path("studies/<slug:slug>/people/<slug:corpus>/<str:step>/", people.StartStep.as_view(), name="people-step"),
    path("studies/<slug:slug>/runs/", api.Runs.as_view(), name="runs"),
    path("studies/<slug:slug>/completions/", api.Completions.as_view(), name="completions"),
    path("runs/<int:number>/", api.OneRun.as_view(), name="run"),
    *(path(f"runs/<int:number>/{action}/", view, name=f"{action}-run") for action, view in api.CHANGES.items()),
    path("schema/", exports.Schema.as_view(), name="schema"),
    path("docs/", exports.Docs.as_view(), name="docs"),
    re_path(r"^[\s\S]*$", NoSuchAddress.as_view()),
]
