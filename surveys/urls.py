"""Addresses of participants and annotators. Their own pages carry a signed link, so they work without cookies."""

from django.urls import include, path

from surveys.annotation import views as annotate
from surveys.participation import arrival_views, views
from surveys.pasting import views as paste

OWN = "<slug:study>/<str:token>/"
arriving = [
    path("<slug:study>/", arrival_views.arrive, name="arrive"),
    path("<slug:study>/no-consent/", arrival_views.no_consent, name="no-consent"),
    path("<slug:study>/withdrawn/", arrival_views.withdrawn, name="withdrawn"),
    path(OWN, views.resume, name="resume"),
    path(f"{OWN}questions/", views.questions, name="questions"),
    path(f"{OWN}instructions/", views.instructions, name="instructions"),
    path(f"{OWN}comprehension/", views.comprehension, name="comprehension"),
    path(f"{OWN}debrief/", views.debrief, name="debrief"),
    path(f"{OWN}end/", views.end, name="end"),
    path(f"{OWN}draft/", paste.draft, name="draft"),
    path(f"{OWN}help/", views.trouble, name="trouble"),
    path(f"{OWN}stop/", views.stop, name="stop"),
]
answering = [
    path(f"{OWN}chatbot/", views.context, name="context"),
    path(f"{OWN}prompt/<int:number>/", paste.prompt, name="prompt"),
    path(f"{OWN}attention/<slug:slug>/", views.attention, name="attention"),
]
annotating = [
    path(f"{OWN}work/", annotate.work, name="work"),
    path(f"{OWN}item/<int:item>/", annotate.item, name="item"),
    path(f"{OWN}item/<int:item>/skip/", annotate.skip, name="skip"),
    path(f"{OWN}item/<int:item>/feedback/", annotate.feedback, name="feedback"),
    path(f"{OWN}undo/", annotate.undo, name="undo"),
    path(f"{OWN}labels/", annotate.labels, name="labels"),
    path(f"{OWN}guidelines/", annotate.guidelines, name="guidelines"),
    path(f"{OWN}alive/", annotate.alive, name="alive"),
]
urlpatterns = [
    path("s/", include((arriving + answering, "survey"))),
    path("a/", include((arriving + annotating, "annotation"))),
]
