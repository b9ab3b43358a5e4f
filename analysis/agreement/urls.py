"""Addresses of the console's pages of agreement and of the gate after a pilot."""

from django.urls import path

from analysis.agreement import gate_views, views

app_name = "agreement"
HERE = "console/<slug:slug>/agreement/"
GATE = "console/<slug:slug>/gate/"
urlpatterns = [
    path(HERE, views.overview, name="overview"),
    path(f"{HERE}numbers.json", views.numbers, name="numbers"),
    path(f"{HERE}groups.csv", views.groups, name="groups"),
    path(f"{HERE}bundle.zip", views.bundle, name="bundle"),
    path(f"{HERE}figures/<slug:name>.<slug:kind>", views.figure, name="figure"),
    path(f"{HERE}items/", views.differing, name="differing"),
    path(f"{HERE}items/<int:key>/", views.item, name="item"),
    path(GATE, gate_views.gate, name="gate"),
    path(f"{GATE}decide/", gate_views.decide, name="decide"),
    path(f"{GATE}invited/", gate_views.invited, name="invited"),
]
