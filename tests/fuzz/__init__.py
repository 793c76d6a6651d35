"""The fuzzer: command lines and files drawn from a seed, each in a process of its own, judged by how it ends.

``python -m tests.fuzz --seed 1 --lines 10000 --files 10000`` prints what broke a rule: no traceback, no hang, an exit
code of 0, 1, 2 or 130, one line with code 2, and nothing left behind by what was refused.
"""
