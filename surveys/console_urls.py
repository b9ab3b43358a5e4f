"""Addresses of the researchers' console."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from surveys.views.console import account, audit, flow, members, monitor, people, setup, studies

app_name = "console"
urlpatterns = [
    path("", studies.studies, name="studies"),
    path("login/", account.log_in, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account.account, name="account"),
    path("new/", studies.new_study, name="new-study"),
    path("<slug:slug>/", studies.study, name="study"),
    path("<slug:slug>/setup/", setup.setup, name="setup"),
    path("<slug:slug>/setup/preview/", setup.preview, name="preview"),
    path("<slug:slug>/setup/new-version/", studies.new_version, name="new-version"),
    path("<slug:slug>/setup/versions/<int:number>/", setup.version, name="version"),
    path("<slug:slug>/setup/versions/<int:number>.json", setup.version_document, name="version-document"),
    path("<slug:slug>/setup/state/<slug:name>/", setup.change_state, name="change-state"),
    path("<slug:slug>/members/", members.members, name="members"),
    path("<slug:slug>/members/add/", members.add, name="add-member"),
    path("<slug:slug>/members/<int:number>/", members.change, name="change-member"),
    path("<slug:slug>/collect/", monitor.monitor, name="monitor"),
    path("<slug:slug>/collect/numbers/", monitor.monitor_part, name="monitor-part"),
    path("<slug:slug>/participants/", people.participants, name="participants"),
    path("<slug:slug>/participants/<slug:pseudonym>/", people.participant, name="participant"),
    path("<slug:slug>/participants/<slug:pseudonym>/returned/", people.call_returned, name="call-returned"),
    path(
        "<slug:slug>/participants/<slug:pseudonym>/<int:number>.txt",
        people.response_text,
        name="response-text",
    ),
    path("<slug:slug>/flow/", flow.flow, name="flow"),
    path("<slug:slug>/flow/flow.svg", flow.flow_file, {"kind": "svg"}, name="flow-svg"),
    path("<slug:slug>/flow/flow.json", flow.flow_file, {"kind": "json"}, name="flow-json"),
    path("<slug:slug>/audit/", audit.trail, name="audit"),
]
