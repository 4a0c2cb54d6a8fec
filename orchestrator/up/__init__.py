"""`orchestrator up`: everything on this machine, started together, watched over and stopped in order."""
