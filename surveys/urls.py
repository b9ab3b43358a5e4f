"""Addresses of participants, annotators and webhooks. People's pages carry a signed link and work without cookies."""

from django.urls import URLPattern, include, path

from surveys.annotation import views as annotation
from surveys.annotation import work
from surveys.participation import arrival_views as arrival
from surveys.participation import views as participation
from surveys.participation.pasting import views as pasting
from surveys.participation.webhooks import prolific_webhook

OWN = "<slug:study>/<str:token>/"
shared = [
    path("<slug:study>/no-consent/", arrival.no_consent, name="no-consent"),
    path("<slug:study>/withdrawn/", arrival.withdrawn, name="withdrawn"),
    path(OWN, participation.resume, name="resume"),
    path(f"{OWN}background/", participation.background, name="background"),
    path(f"{OWN}background/<int:page>/", participation.background, name="background"),
    path(f"{OWN}comprehension/", participation.comprehension, name="comprehension"),
    path(f"{OWN}end/", participation.end, name="end"),
]
draft = path(f"{OWN}draft/", pasting.draft, name="draft")
# What is asked for most is looked up first.
answering: list[URLPattern] = [
    path(f"{OWN}prompt/<int:number>/", pasting.prompt, name="prompt"),
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
INSTRUCTIONS, TROUBLE = {"template": "annotation/instructions.html"}, {"template": "annotation/trouble.html"}
ADMIT = {"admit": work.admit}
annotating: list[URLPattern] = [
    draft,
    path("<slug:study>/", arrival.arrive, {"begin": work.begin, "may_return": work.may_sit_again}, name="arrive"),
    path(f"{OWN}questions/", participation.questions, ADMIT, name="questions"),
    path(f"{OWN}questions/<int:page>/", participation.questions, ADMIT, name="questions"),
    path(f"{OWN}instructions/", participation.instructions, INSTRUCTIONS, name="instructions"),
    path(f"{OWN}work/", annotation.work, name="work"),
    path(f"{OWN}item/<int:item>/", annotation.item, name="item"),
    path(f"{OWN}item/<int:item>/skip/", annotation.skip, name="skip"),
    path(f"{OWN}item/<int:item>/feedback/", annotation.feedback, name="feedback"),
    path(f"{OWN}undo/", annotation.undo, name="undo"),
    path(f"{OWN}labels/", annotation.labels, name="labels"),
    path(f"{OWN}guidelines/", annotation.guidelines, name="guidelines"),
    path(f"{OWN}alive/", annotation.alive, name="alive"),
    path(f"{OWN}debrief/", annotation.debrief, name="debrief"),
    path(f"{OWN}help/", participation.trouble, TROUBLE, name="trouble"),
    path(f"{OWN}stop/", annotation.stop, name="stop"),
]
urlpatterns = [
    path("s/", include((answering + shared, "survey"))),
    path("a/", include((shared + annotating, "annotation"))),
    path("api/v1/prolific/webhook/", prolific_webhook, name="prolific-webhook"),
]
