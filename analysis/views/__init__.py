"""What the console's pages on data, baselines and comparison do with a request."""
