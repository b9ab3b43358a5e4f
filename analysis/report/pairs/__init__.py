"""Two sides that a reader chooses to compare: whose answers they have, and the part of the report about them."""
