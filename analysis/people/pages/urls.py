"""Addresses of the console's pages of people."""

from django.urls import path

from analysis.people.pages import items, source_views, views

app_name = "people"
HERE = "console/<slug:slug>/people/"
ONE = f"{HERE}<slug:name>/"
PERSONAS = "console/<slug:slug>/personas/"
ITEMS = "console/<slug:slug>/items/"
urlpatterns = [
    path(ITEMS, items.items, name="items"),
    path(f"{ITEMS}<slug:name>/", items.push, name="push"),
    path(HERE, source_views.corpora, name="corpora"),
    path(f"{HERE}uploads/new/", source_views.begin_parts, name="new-upload"),
    path(f"{HERE}uploads/<int:number>/", source_views.keep, name="upload"),
    path(ONE, views.corpus, name="corpus"),
    path(f"{ONE}conversations/", source_views.conversations, name="conversations"),
    path(f"{ONE}origin/", source_views.corpus_origin, name="corpus-origin"),
    path(f"{ONE}progress/", views.progress, name="progress"),
    path(f"{ONE}funnel.<slug:kind>", views.figure, name="figure"),
    path(f"{ONE}<slug:step>/start/", views.start, name="start"),
    path(f"{ONE}users/<int:number>/", views.person, name="person"),
    path(PERSONAS, source_views.personas, name="personas"),
    path(f"{PERSONAS}<slug:name>/", source_views.persona_set, name="persona-set"),
    path(f"{PERSONAS}<slug:name>/origin/", source_views.set_origin, name="set-origin"),
]
