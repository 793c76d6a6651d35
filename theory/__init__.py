"""Executable statements of the lemmas, theorems, identities and printed numbers of five papers.

One package per paper, one function per claim; ``theory.kit`` holds what they share.
"""
