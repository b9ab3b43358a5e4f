"""Addresses of the console's pages of trained models."""

from django.urls import path

from analysis.training import views

app_name = "training"
HERE = "console/<slug:slug>/models/"
ONE = f"{HERE}<slug:name>/"
urlpatterns = [
    path(HERE, views.models, name="models"),
    path(ONE, views.model, name="model"),
    path(f"{ONE}progress/", views.progress, name="progress"),
    path(f"{ONE}stop/", views.stop_training, name="stop"),
    path(f"{ONE}resume/", views.resume_training, name="resume"),
]
