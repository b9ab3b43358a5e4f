"""Addresses of the pages about paying people."""

from django.urls import path

from surveys.prolific import set_up_views, views

app_name = "paying"
urlpatterns = [
    path("console/<slug:slug>/paying/", views.paying, name="board"),
    path("console/<slug:slug>/paying/read/", views.read_now, name="read"),
    path("console/<slug:slug>/paying/decide/", views.decide_meaning, name="decide"),
    path("console/<slug:slug>/paying/top-up/", views.top_up, name="top-up"),
    path("console/<slug:slug>/paying/bonus/", views.pay_bonus, name="bonus"),
    path("console/<slug:slug>/paying/asked/<int:number>/", views.second, name="second"),
    path("console/<slug:slug>/paying/ledger/", views.show_ledger, name="ledger"),
    path("console/<slug:slug>/paying/study/", set_up_views.on_prolific, name="set-up"),
    path("console/<slug:slug>/paying/study/make/", set_up_views.make, name="make"),
    path("console/<slug:slug>/paying/study/update/", set_up_views.update, name="update"),
    path("console/<slug:slug>/paying/study/publish/", set_up_views.publish, name="publish"),
    path("console/<slug:slug>/paying/study/groups/", set_up_views.groups, name="groups"),
    path("console/<slug:slug>/paying/study/write/", set_up_views.write, name="write"),
]
