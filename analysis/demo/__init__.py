"""The demo's last stage: scripted models asked like real ones, so that there is something to compare."""
