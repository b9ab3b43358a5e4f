"""Which blend of a chatbot's sources comes nearest to the field, and whether it is nearer than each of them alone."""
