"""Addresses of annotators, who have some of participants' pages in their own form."""

from django.urls import URLPattern, include, path

from surveys.annotation import views, work
from surveys.participation import arrival_views as arrival
from surveys.participation import views as participation
from surveys.participation.pasting.urls import draft
from surveys.participation.urls import OWN, shared

INSTRUCTIONS, TROUBLE = {"template": "annotation/instructions.html"}, {"template": "annotation/trouble.html"}
ADMIT = {"admit": work.admit}
annotating: list[URLPattern] = [
    draft,
    path("<slug:study>/", arrival.arrive, {"begin": work.begin, "may_return": work.may_sit_again}, name="arrive"),
    path(f"{OWN}questions/", participation.questions, ADMIT, name="questions"),
    path(f"{OWN}questions/<int:page>/", participation.questions, ADMIT, name="questions"),
    path(f"{OWN}instructions/", participation.instructions, INSTRUCTIONS, name="instructions"),
    path(f"{OWN}work/", views.work, name="work"),
    path(f"{OWN}item/<int:item>/", views.item, name="item"),
    path(f"{OWN}item/<int:item>/skip/", views.skip, name="skip"),
    path(f"{OWN}item/<int:item>/feedback/", views.feedback, name="feedback"),
    path(f"{OWN}undo/", views.undo, name="undo"),
    path(f"{OWN}labels/", views.labels, name="labels"),
    path(f"{OWN}guidelines/", views.guidelines, name="guidelines"),
    path(f"{OWN}alive/", views.alive, name="alive"),
    path(f"{OWN}debrief/", views.debrief, name="debrief"),
    path(f"{OWN}help/", participation.trouble, TROUBLE, name="trouble"),
    path(f"{OWN}stop/", views.stop, name="stop"),
]
urlpatterns = [path("a/", include((shared + annotating, "annotation")))]
