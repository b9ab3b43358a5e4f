"""Addresses of a study's plan in the console."""

from django.urls import path

from analysis.plans import views

app_name = "plans"
HERE = "console/<slug:slug>/plan/"
urlpatterns = [
    path(HERE, views.plan, name="plan"),
    path(f"{HERE}simulate/", views.simulate, name="simulate"),
    path(f"{HERE}progress/", views.progress, name="progress"),
    path(f"{HERE}osf.json", views.osf, name="osf"),
    path(f"{HERE}aspredicted.txt", views.aspredicted, name="aspredicted"),
    path(f"{HERE}registration.pdf", views.registration, name="registration"),
]
