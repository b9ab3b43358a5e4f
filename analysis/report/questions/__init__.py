"""Questions with choices: shares of letters, runs over the same ones together, how variable each is offline."""
