"""The WSGI application that granian serves."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import resolve

from fieldstudy.embedded import schema, servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
servers.attach(by_hand=False)
application = get_wsgi_application()
resolve("/healthz")  # imports the views now, not while the first person waits
if not settings.DEBUG:
    schema.refuse_pending_migrations()
