"""Who answers a call: any OpenAI-compatible address, or the scripted provider that ships with the product."""

from analysis.endpoints.providers.calls import Provider
from analysis.endpoints.providers.openai import OpenAIProvider
from analysis.endpoints.providers.scripted import FakeProvider

PROVIDERS: dict[str, type[Provider]] = {"openai": OpenAIProvider, "fake": FakeProvider}
