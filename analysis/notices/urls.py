"""The address of the page *Notices*."""

from django.urls import path

from analysis.notices import views

app_name = "notices"
urlpatterns = [path("console/<slug:slug>/notices/", views.notices, name="page")]
