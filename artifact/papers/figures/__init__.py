"""The papers' figures, panel by panel: what is run for them, what they show as data, and how they are drawn."""

from artifact.papers.figures.records import record, state, states
from artifact.papers.figures.series import PanelAt, Series, configs, find, select

__all__ = ["PanelAt", "Series", "configs", "find", "record", "select", "state", "states"]
