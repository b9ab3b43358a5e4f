"""Start the local model and keep it running."""

import signal

from analysis.endpoints import local_model
from analysis.endpoints.endpoints import EndpointError
from analysis.endpoints.local_model import ENDPOINT, MODEL, LocalModelError
from surveys.studies.imports.actions import Action, Options, arg, flag


class Command(Action):
    help = f"Start {MODEL} on this computer and serve it until Ctrl-C; for real answers without a key."
    arguments = (
        arg("--port", type=int, default=8090),
        arg("--parallel", type=int, default=2, help="answers written at a time"),
        arg("--threads", type=int, help="processors to use (default: all but one)"),
        flag("--add", f"make the endpoint {ENDPOINT!r} too"),
    )
    faults = (LocalModelError, EndpointError)

    def run(self, options: Options) -> None:
        port, parallel = options["port"], options["parallel"]
        ending = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, signal.default_int_handler) for number in ending]
        server = None  # as long as the model is still loading
        try:
            server = local_model.start_server(port, parallel, options["threads"])
            if options["add"]:
                local_model.add_local_endpoint(port, parallel)
            self.stdout.write(f"{MODEL} answers at {local_model.base_url(port)}. Ctrl-C stops it.")
            self.stdout.write(
                f"The endpoint {ENDPOINT} is ready: manage.py run_baseline STUDY --endpoint {ENDPOINT} ..."
                if options["add"]
                else f"Make an endpoint of it: {local_model.add_command(port, parallel)}"
            )
            self.stdout.flush()
            while True:
                signal.pause()
        except KeyboardInterrupt:
            del server
            self.stderr.write("The local model has stopped.")
        finally:  # a caller in this process must not be interrupted later
            for number, handler in zip(ending, before, strict=True):
                signal.signal(number, handler)
