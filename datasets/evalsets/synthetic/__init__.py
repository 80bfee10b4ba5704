"""Probes of invented worlds, whose truth is known."""
