"""Addresses that people who paste answers and annotators have in common, and of Prolific's webhook.

People's pages carry a signed link and work without cookies.
"""

from django.urls import URLPattern, path

from surveys.participation import arrival_views, views
from surveys.participation.webhooks import prolific_webhook

OWN = "<slug:study>/<str:token>/"
shared: list[URLPattern] = [
    path("<slug:study>/no-consent/", arrival_views.no_consent, name="no-consent"),
    path("<slug:study>/withdrawn/", arrival_views.withdrawn, name="withdrawn"),
    path(OWN, views.resume, name="resume"),
    path(f"{OWN}background/", views.background, name="background"),
    path(f"{OWN}background/<int:page>/", views.background, name="background"),
    path(f"{OWN}comprehension/", views.comprehension, name="comprehension"),
    path(f"{OWN}end/", views.end, name="end"),
]
urlpatterns = [path("api/v1/prolific/webhook/", prolific_webhook, name="prolific-webhook")]
