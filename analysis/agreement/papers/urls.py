"""Addresses of the page of a paper's figures and tables."""

from django.urls import path

from analysis.agreement.papers import views

app_name = "papers"
HERE = "console/<slug:slug>/paper/"
urlpatterns = [
    path(HERE, views.paper, name="paper"),
    path(f"{HERE}<slug:name>.<slug:kind>", views.figure, name="figure"),
]
