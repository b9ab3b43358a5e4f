"""Addresses of the console's comparing pages, their figures, and the texts behind their numbers."""

from collections.abc import Iterable

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from analysis.exports.formats import FIGURE_FILES
from analysis.report.pages import bundle_views, planned_views, views
from analysis.report.pages.shown import FIGURE_PAGES, OVERVIEW, PAGES


def register_one_of(name: str, words: Iterable[str]) -> None:
    """Register a converter that takes one of these words."""
    register_converter(type(name, (StringConverter,), {"regex": "|".join(words)}), name)


register_one_of("compare-page", (name for name in PAGES if name != OVERVIEW.name))
register_one_of("any-compare-page", PAGES)
register_one_of("figure", FIGURE_PAGES)
register_one_of("file", FIGURE_FILES)

app_name = "compare"
HERE = "console/<slug:slug>/compare/"
urlpatterns = [
    path("console/<slug:slug>/export/bundle.zip", bundle_views.bundle, name="bundle"),
    path("console/<slug:slug>/export/bundle/", bundle_views.prepare, name="prepare-bundle"),
    path("console/<slug:slug>/export/bundle/progress/", bundle_views.progress, name="bundle-progress"),
    path(HERE, views.overview, name="overview"),
    path(f"{HERE}questions.toml", views.questions, name="questions"),
    path(f"{HERE}look/", planned_views.take, name="take-look"),
    path(f"{HERE}multiverse/", planned_views.multiverse, name="multiverse"),
    path(f"{HERE}multiverse/compute/", planned_views.compute, name="multiverse-compute"),
    path(f"{HERE}multiverse/progress/", planned_views.progress, name="multiverse-progress"),
    path(f"{HERE}multiverse.json", planned_views.document, name="multiverse-document"),
    path(f"{HERE}multiverse/<int:number>/", planned_views.curve_part, name="multiverse-curve"),
    path(f"{HERE}multiverse/<int:number>.<file:kind>", planned_views.figure, name="multiverse-figure"),
    path(f"{HERE}texts/", views.texts, name="texts"),
    path(f"{HERE}<compare-page:name>/", views.page, name="page"),
    path(f"{HERE}computing/<any-compare-page:name>/", views.computing, name="computing"),
    path(f"{HERE}figures/<figure:name>/", views.figure_part, name="figure-part"),
    path(f"{HERE}figures/<figure:name>.<file:kind>", views.figure, name="figure"),
]
