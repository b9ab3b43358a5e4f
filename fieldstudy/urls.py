"""All addresses of the site.

Most pages of researchers are imported when they are first asked for: a process that serves participants holds neither
pandas nor scipy nor a chart library, which are two thirds of the memory of one that draws a report. A module of pages
lists their addresses at its end.
"""

from collections.abc import Iterable
from functools import cached_property
from importlib import import_module

from django.contrib import admin
from django.urls import Resolver404, URLPattern, URLResolver, include, path
from django.urls.resolvers import ResolverMatch, RoutePattern
from django.utils.datastructures import MultiValueDict
from django.utils.translation import get_language
from django.views.generic import RedirectView

from fieldstudy.health import healthz
from surveys.console.account_views import log_in_as_administrator


def addresses(modules: Iterable[str]) -> list[URLPattern]:
    return [entry for module in modules for entry in import_module(module).urlpatterns]


class Later(URLResolver):
    """Like `include`, but modules are imported only when an address that begins with `under` is looked up or built."""

    def __init__(self, name: str, *modules: str, under: str = "console/", prefix: str = "") -> None:
        super().__init__(RoutePattern(prefix, is_endpoint=False), modules, app_name=name, namespace=name)
        self.under = under

    @cached_property
    def urlconf_module(self) -> list[URLPattern]:
        return addresses(self.urlconf_name)

    def resolve(self, path: str) -> ResolverMatch:
        if not str(path).startswith(self.under):
            raise Resolver404({"path": path, "tried": []})
        return super().resolve(path)

    def _populate(self) -> None:
        """Do nothing yet: Django prepares every part of the site as soon as one address is built."""

    @property
    def reverse_dict(self) -> MultiValueDict[str, object]:
        if get_language() not in self._reverse_dict:
            super()._populate()
        return super().reverse_dict


CONSOLE = (f"surveys.console.{name}_views" for name in ("account", "study", "setup", "collect", "people"))
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console:studies")),
    path("", include("surveys.participation.pasting.views")),
    path("", include("surveys.annotation.views")),
    path("", include("surveys.participation.webhooks")),
    Later("paying", "surveys.prolific.views", "surveys.prolific.set_up_views"),
    Later("simulation", "surveys.simulation.views"),
    Later("editor", "surveys.console.editor.views"),
    Later(
        "compare",
        *("analysis.report.pages.bundle_views", "analysis.report.pages.planned_views", "analysis.report.pages.views"),
    ),
    Later("export", "analysis.exports.views"),
    Later("sharing", "analysis.endpoints.owners.views"),
    Later("people", "analysis.people.pages.items", "analysis.people.pages.source_views", "analysis.people.pages.views"),
    Later("training", "analysis.training.views"),
    Later(
        "baselines",
        *("analysis.runs.pages.asking_views", "analysis.runs.pages.views", "analysis.runs.pages.new_run"),
        *("analysis.runs.pages.trial_views", "analysis.endpoints.views"),
    ),
    Later("answers", "analysis.answers.views", "analysis.answers.alias_views"),
    Later("agreement", "analysis.agreement.views", "analysis.agreement.gate_views"),
    Later("plans", "analysis.plans.views"),
    Later("papers", "analysis.agreement.papers.views"),
    Later("notices", "analysis.notices.views"),
    path("console/", include((addresses(CONSOLE), "console"))),
    Later(
        "api",
        *("analysis.runs.api", "analysis.report.api", "analysis.agreement.api", "analysis.people.pages.api"),
        "analysis.exports.api",  # the last refuses all other addresses
        under="api/v1/",
        prefix="api/v1/",
    ),
    path("admin/login/", log_in_as_administrator),
    path("admin/", admin.site.urls),
    path("healthz", healthz),
    path("healthz/", healthz),
]
