#!/usr/bin/env python
"""Runs the project's commands; starts the embedded services first when no URL names others."""

import os
import sys

import django
from django.core.management import execute_from_command_line
from django.db import ProgrammingError

from fieldstudy.embedded import schema, servers


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
    servers.assume_own_computer()
    if servers.needs_services(sys.argv):
        attached = servers.attach()
        if "DATABASE_URL" in attached and sys.argv[1] not in servers.SCHEMA_COMMANDS:
            django.setup()
            schema.apply_pending_migrations()
    try:
        execute_from_command_line(sys.argv)
    except ProgrammingError:
        schema.refuse_pending_migrations()
        raise


if __name__ == "__main__":
    main()
