"""Start the local model and keep it running."""

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.endpoints.endpoints import EndpointError
from analysis.endpoints.local_model import (
    ENDPOINT,
    MODEL,
    LocalModelError,
    add_command,
    add_local_endpoint,
    base_url,
    start_server,
)


class Command(BaseCommand):
    help = f"Start {MODEL} on this computer and serve it until Ctrl-C; for real answers without a key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8090)
        parser.add_argument("--parallel", type=int, default=2, help="answers that are written at a time")
        parser.add_argument("--threads", type=int, help="processors that it uses; all but one unless given")
        parser.add_argument("--add", action="store_true", help=f"make the endpoint {ENDPOINT!r} too")

    def handle(self, *args: Any, **options: Any) -> None:
        port, parallel = options["port"], options["parallel"]
        ending = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, signal.default_int_handler) for number in ending]
        try:
            server = start_server(port, parallel, options["threads"])
            if options["add"]:
                add_local_endpoint(port, parallel)
            self.stdout.write(f"{MODEL} answers at {base_url(port)}. Ctrl-C stops it.")
            self.stdout.write(
                f"The endpoint {ENDPOINT} is ready: manage.py run_baseline STUDY --endpoint {ENDPOINT} ..."
                if options["add"]
                else f"Make an endpoint of it: {add_command(port, parallel)}"
            )
            self.stdout.flush()
            while True:
                signal.pause()
        except (LocalModelError, EndpointError) as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            del server
            self.stderr.write("The local model has stopped.")
        finally:  # a caller in this process must not be interrupted later
            for number, handler in zip(ending, before, strict=True):
                signal.signal(number, handler)
