"""URLs of the console's export pages and of the API token."""

from django.urls import path

from analysis.exports import views

app_name = "export"
urlpatterns = [
    path("console/account/token/", views.token, name="token"),
    path("console/<slug:slug>/export/", views.page, name="page"),
    path("console/<slug:slug>/export/codebook.<slug:kind>", views.codebook, name="codebook"),
    path("console/<slug:slug>/export/everything.zip", views.everything, name="everything"),
    path("console/<slug:slug>/export/everything/", views.everything_progress, name="progress"),
    *(
        path(f"console/<slug:slug>/export/{name}", views.example, {"name": name}, name=name.partition(".")[0])
        for name in views.EXAMPLE_FILES
    ),
    path("console/<slug:slug>/export/<slug:table>.<slug:kind>", views.download, name="download"),
]
