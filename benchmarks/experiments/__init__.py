"""Experiments behind docs/: what a study found, measured again by one command."""
