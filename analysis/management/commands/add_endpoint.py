"""Make an endpoint: one model at one address."""

import json
from decimal import Decimal

from analysis.endpoints.endpoints import EndpointError, add_endpoint
from analysis.runs.commands import parse_dollars
from surveys.studies.imports.actions import Action, Options, Report, arg, flag

SAME = (
    *("base_url", "model", "provider", "key_env", "concurrency", "context_window", "max_tokens"),
    *("price_in", "price_out", "tokenizer", "extra", "json_schema", "embeddings"),
)


def fields(text: str) -> dict:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("extra must be a JSON object")
    return found


class Command(Action):
    help = "Make an endpoint, or change one that has no runs. The key stays in the environment variable it names."
    arguments = (
        arg("name"),
        arg("--base-url", default="", help="for example https://api.openai.com/v1"),
        arg("--model", required=True),
        arg("--provider", choices=["openai", "fake"], default="openai"),
        arg("--key-env", default="", metavar="VAR", help="the variable that holds the key"),
        arg("--rpm", type=int, help="requests a minute, over all workers"),
        arg("--tpm", type=int, help="tokens a minute, over all workers"),
        arg("--concurrency", type=int, default=8, help="calls in flight in each lane"),
        arg("--context-window", type=int, default=128_000, help="tokens"),
        arg("--max-tokens", type=int, default=1024, help="longest reply"),
        arg("--price-in", type=parse_dollars, default=Decimal(0), help="USD per million tokens"),
        arg("--price-out", type=parse_dollars, default=Decimal(0), help="USD per million tokens"),
        arg("--tokenizer", default="", metavar="FILE", help="a tokenizer.json, to count exactly"),
        arg("--extra", type=fields, default={}, metavar="JSON", help="more fields of each request"),
        flag("--json-schema", "ask for answers by JSON schema"),
        flag("--embeddings", "it makes vectors of texts, no answers"),
    )
    faults = (EndpointError,)

    def run(self, options: Options) -> Report:
        given = {name: options[name] for name in SAME}
        limits = {"requests_per_minute": options["rpm"], "tokens_per_minute": options["tpm"]}
        endpoint = add_endpoint(options["name"], **given, **limits)
        return {"endpoint": endpoint.name, "model": endpoint.model}

    def tell(self, report: Report, options: Options) -> str:
        return f"{report['endpoint']}: {report['model']} at {options['base_url'] or 'no address'}"
