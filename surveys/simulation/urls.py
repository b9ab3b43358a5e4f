"""Addresses of the rehearsal with simulated people."""

from django.urls import path

from surveys.simulation import views

app_name = "simulation"
HERE = "console/<slug:slug>/setup/rehearsal/"
urlpatterns = [path(HERE, views.rehearsal, name="page"), path(f"{HERE}progress/", views.progress, name="progress")]
