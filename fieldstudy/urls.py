"""All addresses of the site."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("surveys.urls")),
    path("admin/", admin.site.urls),
]
