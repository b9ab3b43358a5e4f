"""Two sides of a reader's choice, compared with each other: who they are, and the part of the report about them."""
