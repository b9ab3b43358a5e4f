"""All addresses of the site.

Most pages of researchers are imported when they are first asked for: a process that serves participants holds neither
pandas nor scipy nor a chart library, which are two thirds of the memory of one that draws a report. A room with one
module of pages lists their addresses at its end; one with several has them in a module `urls`.
"""

from django.contrib import admin
from django.urls import Resolver404, URLResolver, include, path
from django.urls.resolvers import ResolverMatch, RoutePattern
from django.utils.datastructures import MultiValueDict
from django.utils.translation import get_language
from django.views.generic import RedirectView

from fieldstudy.health import healthz
from surveys.console.account_views import log_in_as_administrator


class Later(URLResolver):
    """Like `include`, but the module is imported only when an address that begins with `under` is looked up or built.

    The name space is given here, as asking the module for it would import it; a test compares them.
    """

    def __init__(self, urls: str, name: str, under: str = "console/", prefix: str = "") -> None:
        super().__init__(RoutePattern(prefix, is_endpoint=False), urls, app_name=name, namespace=name)
        self.under = under

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


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console:studies")),
    path("", include("surveys.participation.pasting.views")),
    path("", include("surveys.annotation.views")),
    path("", include("surveys.participation.urls")),
    Later("surveys.prolific.urls", "paying"),
    Later("surveys.simulation.views", "simulation"),
    Later("surveys.console.editor.views", "editor"),
    Later("analysis.report.urls", "compare"),
    Later("analysis.exports.views", "export"),
    Later("analysis.endpoints.owners.views", "sharing"),
    Later("analysis.people.pages.urls", "people"),
    Later("analysis.training.views", "training"),
    Later("analysis.runs.urls", "baselines"),
    Later("analysis.answers.urls", "answers"),
    Later("analysis.agreement.urls", "agreement"),
    Later("analysis.plans.views", "plans"),
    Later("analysis.agreement.papers.views", "papers"),
    Later("analysis.notices.views", "notices"),
    path("console/", include("surveys.console.urls")),
    Later("analysis.api_urls", "api", under="api/v1/", prefix="api/v1/"),
    path("admin/login/", log_in_as_administrator),
    path("admin/", admin.site.urls),
    path("healthz", healthz),
    path("healthz/", healthz),
]
