"""Shortcuts on processors."""
