"""ticlm: time-continual language modelling on Ray."""

__version__ = "0.1.0"
