"""Made-up participants who take a running study over HTTP, and what must be true afterwards."""
