"""Addresses of the editor of studies."""

from django.urls import path

from surveys.console.editor import views

app_name = "editor"
urlpatterns = [
    path("console/new/start/", views.start, name="start"),
    path("console/new/<int:number>/", views.edit, name="first"),
    path("console/new/<int:number>/text/", views.edit_text, name="text"),
    path("console/new/<int:number>/file.toml", views.download, name="download"),
    path("console/new/<int:number>/make/", views.make, name="make"),
    path("console/new/<int:number>/drop/", views.drop, name="drop"),
    path("console/new/<int:number>/seen/<int:page>/", views.seen, name="seen"),
    path("console/new/<int:number>/<slug:section>/", views.edit, name="edit"),
    path("console/new/<int:number>/<slug:section>/standing/", views.standing, name="standing"),
    path("console/<slug:slug>/setup/edit/", views.edit_study, name="study"),
]
