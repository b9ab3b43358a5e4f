"""The WSGI application, and the front through which granian serves it."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import resolve

from fieldstudy.embedded import schema, servers
from fieldstudy.front import Front

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
servers.attach(by_hand=False)
application = get_wsgi_application()
front = Front(application, settings.WEB_THREADS, settings.VAR_FOLDER / "incoming")
resolve("/healthz")  # imports the views now, not while the first person waits
if not settings.DEBUG:
    schema.refuse_to_serve()
