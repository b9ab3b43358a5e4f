"""Worlds: people and models who answer as a scenario says, drawn for what one hypothesis needs."""
