"""URLs of the console's pages of runs and endpoints."""

from django.urls import path

from analysis.endpoints import views
from analysis.runs.pages import asking_views, new_run, trial_views
from analysis.runs.pages import views as runs

app_name = "baselines"
RUNS = "console/<slug:slug>/baselines/"
ASK = "console/<slug:slug>/people/<slug:corpus>/ask/<slug:task>/"
urlpatterns = [
    path(ASK, asking_views.ask, name="ask"),
    path(f"{ASK}plan/", asking_views.plan_part, name="ask-plan"),
    path(RUNS, runs.runs, name="runs"),
    path(f"{RUNS}rows/", runs.runs_part, name="runs-part"),
    path(f"{RUNS}compare/", runs.compare, name="compare"),
    path(f"{RUNS}new/", new_run.new_run, name="new-run"),
    path(f"{RUNS}new/estimate/", new_run.estimate, name="estimate"),
    path(f"{RUNS}endpoints/", views.endpoints, name="endpoints"),
    path(f"{RUNS}endpoints/new/", views.edit, name="new-endpoint"),
    path(f"{RUNS}endpoints/<slug:name>/", views.edit, name="endpoint"),
    path(f"{RUNS}endpoints/<slug:name>/try/", trial_views.try_one, name="try-endpoint"),
    path(f"{RUNS}<int:number>/", runs.run, name="run"),
    path(f"{RUNS}<int:number>/numbers/", runs.run_part, name="run-part"),
    path(f"{RUNS}<int:number>/calls/", runs.calls_part, name="calls-part"),
    path(f"{RUNS}<int:number>/calls/<int:call>/", runs.completion, name="completion"),
    path(f"{RUNS}<int:number>/calls/<int:call>.json", runs.completion_messages, name="completion-messages"),
    path(f"{RUNS}<int:number>/<slug:action>/", runs.change_run, name="change-run"),
]
