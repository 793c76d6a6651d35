"""fedsharp: the training core and what serves it."""

__version__ = "0.1.0"

#: Part of every run's key. Raised only when a change may alter numbers.
NUMBERS = 1
