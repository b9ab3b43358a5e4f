"""Addresses of the console's comparing pages, their figures, and the texts behind their numbers."""

from django.urls import path, register_converter

from analysis.report.bundle.views import bundle
from analysis.report.pages import text_views, views
from analysis.report.pages.contents import OVERVIEW, PAGE_OF_FIGURE, PAGES
from analysis.report.pages.drawings import FILES


class OneOf:
    """A word out of a list."""

    regex = ""

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class PageName(OneOf):
    regex = "|".join(name for name in PAGES if name != OVERVIEW.name)


class AnyPageName(OneOf):
    regex = "|".join(PAGES)


class FigureName(OneOf):
    regex = "|".join(PAGE_OF_FIGURE)


class FileKind(OneOf):
    regex = "|".join(FILES)


register_converter(PageName, "compare-page")
register_converter(AnyPageName, "any-compare-page")
register_converter(FigureName, "figure")
register_converter(FileKind, "file")

app_name = "compare"
HERE = "console/<slug:slug>/compare/"
urlpatterns = [
    path("console/<slug:slug>/export/bundle.zip", bundle, name="bundle"),
    path(HERE, views.overview, name="overview"),
    path(f"{HERE}texts/", text_views.texts, name="texts"),
    path(f"{HERE}<compare-page:name>/", views.page, name="page"),
    path(f"{HERE}computing/<any-compare-page:name>/", views.computing, name="computing"),
    path(f"{HERE}figures/<figure:name>/", views.figure_part, name="figure-part"),
    path(f"{HERE}figures/<figure:name>.<file:kind>", views.figure, name="figure"),
]
