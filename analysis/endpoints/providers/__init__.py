"""Who answers a call: any OpenAI-compatible address, or the scripted provider that ships with the product."""
