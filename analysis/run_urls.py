"""Addresses of the console's pages of baselines and endpoints."""

from django.urls import path, register_converter

from analysis import completion_views, endpoint_views, new_run_views, run_views
from analysis.run_tasks import ACTIONS


class Action:
    """One of the things that can be done to a run."""

    regex = "|".join(ACTIONS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(Action, "action")

app_name = "baselines"
RUNS = "console/<slug:slug>/baselines/"
urlpatterns = [
    path(RUNS, run_views.runs, name="runs"),
    path(f"{RUNS}rows/", run_views.runs_part, name="runs-part"),
    path(f"{RUNS}new/", new_run_views.new_run, name="new-run"),
    path(f"{RUNS}new/estimate/", new_run_views.estimate, name="estimate"),
    path(f"{RUNS}endpoints/", endpoint_views.endpoints, name="endpoints"),
    path(f"{RUNS}endpoints/new/", endpoint_views.edit, name="new-endpoint"),
    path(f"{RUNS}endpoints/<slug:name>/", endpoint_views.edit, name="endpoint"),
    path(f"{RUNS}<int:number>/", run_views.run, name="run"),
    path(f"{RUNS}<int:number>/numbers/", run_views.run_part, name="run-part"),
    path(f"{RUNS}<int:number>/calls/<int:call>/", completion_views.completion, name="completion"),
    path(
        f"{RUNS}<int:number>/calls/<int:call>.json",
        completion_views.completion_messages,
        name="completion-messages",
    ),
    path(f"{RUNS}<int:number>/<action:action>/", run_views.change_run, name="change-run"),
]
