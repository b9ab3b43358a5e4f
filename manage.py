#!/usr/bin/env python
"""Runs the project's commands; starts the embedded services first when no URL names others."""

import os
import sys

import django
from django.core.management import execute_from_command_line

from fieldstudy.embedded import schema, servers


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
    servers.assume_own_computer()
    if servers.needs_services(sys.argv):
        attached = servers.attach()
        if "DATABASE_URL" in attached and sys.argv[1] not in servers.SCHEMA_COMMANDS:
            django.setup()
            schema.apply_pending_migrations()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
