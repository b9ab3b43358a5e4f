"""Who answers a call: any OpenAI-compatible address, or the scripted provider that ships with the product."""

from analysis.providers.calls import Provider
from analysis.providers.fake import FakeProvider
from analysis.providers.openai import OpenAIProvider

PROVIDERS: dict[str, type[Provider]] = {"openai": OpenAIProvider, "fake": FakeProvider}
