"""The address at which something is shared."""

from django.urls import path

from analysis.endpoints.owners import views

app_name = "sharing"
urlpatterns = [path("console/<slug:slug>/sharing/<slug:kind>/<slug:name>/", views.share_thing, name="share")]
