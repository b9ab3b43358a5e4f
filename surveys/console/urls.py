"""Addresses of the researchers' console."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from surveys.console import account_views, collect_views, people_views, setup_views, study_views

app_name = "console"
urlpatterns = [
    path("", study_views.studies, name="studies"),
    path("login/", account_views.log_in, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account_views.account, name="account"),
    path("account/invitations/", account_views.invitations, name="invitations"),
    path("account/new/<str:token>/", account_views.accept_invitation, name="accept"),
    path("new/", study_views.new_study, name="new-study"),
    path("<slug:slug>/", study_views.study, name="study"),
    path("<slug:slug>/setup/", setup_views.setup, name="setup"),
    path("<slug:slug>/setup/preview/", setup_views.preview, name="preview"),
    path("<slug:slug>/setup/new-version/", study_views.new_version, name="new-version"),
    path("<slug:slug>/setup/versions/<int:number>/", setup_views.version, name="version"),
    path("<slug:slug>/setup/versions/<int:number>.json", setup_views.version_document, name="version-document"),
    path("<slug:slug>/setup/state/<slug:name>/", setup_views.change_state, name="change-state"),
    path("<slug:slug>/setup/rename/", setup_views.rename, name="rename"),
    path("<slug:slug>/setup/delete/", setup_views.delete, name="delete"),
    path("<slug:slug>/members/", account_views.members, name="members"),
    path("<slug:slug>/members/add/", account_views.add_to_study, name="add-member"),
    path("<slug:slug>/members/<int:number>/", account_views.change_membership, name="change-member"),
    path("<slug:slug>/collect/", collect_views.monitor, name="monitor"),
    path("<slug:slug>/collect/numbers/", collect_views.monitor_part, name="monitor-part"),
    path("<slug:slug>/participants/", people_views.participants, name="participants"),
    path("<slug:slug>/participants/<slug:pseudonym>/", people_views.participant, name="participant"),
    path("<slug:slug>/participants/<slug:pseudonym>/returned/", people_views.call_returned, name="call-returned"),
    path(
        "<slug:slug>/participants/<slug:pseudonym>/<int:number>.txt", people_views.response_text, name="response-text"
    ),
    path("<slug:slug>/notes/<slug:kind>/<int:key>/", people_views.write_note, name="write-note"),
    path("<slug:slug>/notes/<int:number>/", people_views.change_note, name="change-note"),
    path("<slug:slug>/flow/", collect_views.flow, name="flow"),
    path("<slug:slug>/flow/flow.svg", collect_views.flow_file, {"kind": "svg"}, name="flow-svg"),
    path("<slug:slug>/flow/flow.json", collect_views.flow_file, {"kind": "json"}, name="flow-json"),
    path("<slug:slug>/audit/", account_views.trail, name="audit"),
]
