"""Questions with choices: shares of letters, benchmark runs and the benchmark in the field, variability offline."""
