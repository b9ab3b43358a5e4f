"""The platform and the yardstick in one WSGI application."""

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"

from fieldstudy.wsgi import application  # noqa: E402, F401 - reads the settings named above
