"""Addresses of the console's export pages and of the API's token."""

from django.urls import path

from analysis.views import exports

app_name = "export"
urlpatterns = [
    path("console/account/token/", exports.token, name="token"),
    path("console/<slug:slug>/export/", exports.page, name="page"),
    path("console/<slug:slug>/export/codebook.<slug:kind>", exports.codebook, name="codebook"),
    path("console/<slug:slug>/export/bundle.zip", exports.bundle, name="bundle"),
    path("console/<slug:slug>/export/<slug:table>.<slug:kind>", exports.download, name="download"),
]
