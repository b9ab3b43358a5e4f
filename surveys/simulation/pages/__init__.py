"""The console's page of a rehearsal with simulated people."""
