"""Addresses of people who paste answers."""

from django.urls import URLPattern, include, path

from surveys.participation import arrival_views as arrival
from surveys.participation import views as participation
from surveys.participation.pasting import views
from surveys.participation.urls import OWN, shared

draft = path(f"{OWN}draft/", views.draft, name="draft")
# What is asked for most is looked up first.
answering: list[URLPattern] = [
    path(f"{OWN}prompt/<int:number>/", views.prompt, name="prompt"),
    draft,
    path("<slug:study>/", arrival.arrive, name="arrive"),
    path(f"{OWN}questions/", participation.questions, name="questions"),
    path(f"{OWN}questions/<int:page>/", participation.questions, name="questions"),
    path(f"{OWN}instructions/", participation.instructions, name="instructions"),
    path(f"{OWN}chatbot/", participation.context, name="context"),
    path(f"{OWN}attention/<slug:slug>/", participation.attention, name="attention"),
    path(f"{OWN}perception/", participation.perception, name="perception"),
    path(f"{OWN}debrief/", participation.debrief, name="debrief"),
    path(f"{OWN}help/", participation.trouble, name="trouble"),
    path(f"{OWN}stop/", participation.stop, name="stop"),
]
urlpatterns = [path("s/", include((answering + shared, "survey")))]
