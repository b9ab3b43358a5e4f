"""Questions with choices: runs over the same ones together, how variable each is offline, how far letters lie apart."""
