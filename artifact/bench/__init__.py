"""Timing: one process per contender, which take turns."""
