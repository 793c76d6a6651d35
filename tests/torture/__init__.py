"""The torture chamber: scenarios drawn from a seed, with kills, damage and scarcity, and what must hold in each.

``python -m tests.torture --seed 1 --minutes 10`` plays scenarios and prints what it injected and what broke. A scenario
that breaks something is shrunk to the fewest steps that still break it, and printed as the command that repeats it.
"""
