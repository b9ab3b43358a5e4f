"""Addresses of participants. A person's own pages carry a signed link, so that they work without cookies."""

from django.urls import path

from surveys.views import arrival, participant, paste

app_name = "survey"
urlpatterns = [
    path("s/<slug:study>/", arrival.arrive, name="arrive"),
    path("s/<slug:study>/no-consent/", arrival.no_consent, name="no-consent"),
    path("s/<slug:study>/withdrawn/", arrival.withdrawn, name="withdrawn"),
    path("s/<slug:study>/<str:token>/", participant.resume, name="resume"),
    path("s/<slug:study>/<str:token>/questions/", participant.questions, name="questions"),
    path("s/<slug:study>/<str:token>/instructions/", participant.instructions, name="instructions"),
    path("s/<slug:study>/<str:token>/comprehension/", participant.comprehension, name="comprehension"),
    path("s/<slug:study>/<str:token>/chatbot/", participant.context, name="context"),
    path("s/<slug:study>/<str:token>/prompt/<int:number>/", paste.prompt, name="prompt"),
    path("s/<slug:study>/<str:token>/attention/<slug:slug>/", participant.attention, name="attention"),
    path("s/<slug:study>/<str:token>/debrief/", participant.debrief, name="debrief"),
    path("s/<slug:study>/<str:token>/end/", participant.end, name="end"),
    path("s/<slug:study>/<str:token>/draft/", paste.draft, name="draft"),
    path("s/<slug:study>/<str:token>/help/", participant.trouble, name="trouble"),
    path("s/<slug:study>/<str:token>/stop/", participant.stop, name="stop"),
]
