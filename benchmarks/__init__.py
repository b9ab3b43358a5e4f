"""How fast the platform is on this computer; README.md says how to run each program and what it found."""
