"""The ASGI application, for hosts that offer nothing else; the WSGI one is faster here."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from fieldstudy.embedded import schema, servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
servers.attach(by_hand=False)
application = get_asgi_application()
if not settings.DEBUG:
    schema.refuse_to_serve()
