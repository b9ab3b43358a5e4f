"""Imports files as the commands do, each in its own process, and reports how much memory each took.

Standard input: a line of JSON for each, `[command, arguments]`. Standard output: a line of JSON with the megabytes by
which the process grew, the seconds of processor time, and what the command said.
"""

import io
import json
import os
import resource
import sys
import time

import django
from django.core.management import CommandError, call_command, get_commands, load_command_class

LIMIT = 4 << 30  # bytes: what takes more than the test allows must not take the computer's


def run(command: str, arguments: list[str]) -> dict[str, object]:
    base, began = grown(), time.process_time()
    soft = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, soft))
    said = io.StringIO()
    try:
        call_command(command, *arguments, stdout=said, stderr=said)
    except CommandError as error:
        print(error, file=said)
    except MemoryError:
        print("MemoryError", file=said)
    return {"megabytes": grown() - base, "seconds": time.process_time() - began, "said": said.getvalue()[-4000:]}


def grown() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    django.setup()
    for name, app in get_commands().items():
        if name.startswith("import_") or name in ("load_study", "verify_audit"):
            load_command_class(app, name)  # what a command loads is not what a file takes
    for line in sys.stdin:
        command, arguments = json.loads(line)
        if os.fork() == 0:
            print(json.dumps(run(command, arguments)), flush=True)
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main()
