"""What learns: a fit over frozen vectors, an encoder, a reasoning model; the last two run as their own programs."""
