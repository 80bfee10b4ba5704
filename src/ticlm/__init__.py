"""ticlm: time-continual language modelling on Ray."""

__version__ = "0.2.0"
