"""Who answers a call: any OpenAI-compatible address, or the scripted provider that ships with the product."""

from analysis.endpoints.providers.calls import Provider
from analysis.endpoints.providers.fake import FakeProvider
from analysis.endpoints.providers.openai import OpenAIProvider

PROVIDERS: dict[str, type[Provider]] = {"openai": OpenAIProvider, "fake": FakeProvider}
