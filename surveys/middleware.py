"""What every page about people carries: not stored by caches, not found by search engines."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

PRIVATE = ("/s/", "/a/", "/console/", "/api/", "/admin/")


class PrivatePagesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(PRIVATE):
            response.headers.setdefault("Cache-Control", "no-store, private")
            response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response
