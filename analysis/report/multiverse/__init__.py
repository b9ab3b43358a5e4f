"""Each hypothesis under every choice that could have been made otherwise: what is varied, computed, kept and drawn."""
