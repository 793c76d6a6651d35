"""``python -m fedsharp``: the command line, as ``python -m fedsharp``."""

from artifact.__main__ import script

if __name__ == "__main__":
    script()
