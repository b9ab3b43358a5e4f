"""Addresses of the console's pages of agreement and of the gate after a pilot."""

from django.urls import path

from analysis.views import agreement, gate

app_name = "agreement"
HERE = "console/<slug:slug>/agreement/"
GATE = "console/<slug:slug>/gate/"
urlpatterns = [
    path(HERE, agreement.overview, name="overview"),
    path(f"{HERE}numbers.json", agreement.numbers, name="numbers"),
    path(f"{HERE}groups.csv", agreement.groups, name="groups"),
    path(f"{HERE}figures/<slug:name>.<slug:kind>", agreement.figure, name="figure"),
    path(f"{HERE}items/", agreement.differing, name="differing"),
    path(f"{HERE}items/<int:key>/", agreement.item, name="item"),
    path(GATE, gate.gate, name="gate"),
    path(f"{GATE}decide/", gate.decide, name="decide"),
    path(f"{GATE}invited/", gate.invited, name="invited"),
]
