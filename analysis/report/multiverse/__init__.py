"""The multiverse: each hypothesis under every choice of analysis; what is varied, computed, kept and drawn."""
