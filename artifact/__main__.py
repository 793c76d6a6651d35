"""``python -m fedsharp``: the command line. Bad input ends in one line on standard error and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from artifact.runs import guardian
from artifact.runs.processes import REQUEST, interruptible, require_address_space, set_up


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 well, 2 bad input, 130 interrupted (a run keeps its last checkpoint)."""
    from artifact.base.console import exit_code, invoked

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    set_up()

    def command() -> object:
        require_address_space()
        from artifact.cli import commands

        try:
            return invoked(commands(arguments), arguments, "python -m fedsharp")
        except Exception as error:
            if REQUEST.raised:  # compiled code told the interruption as an error of its own
                raise KeyboardInterrupt from error
            raise

    resume = "; the same command with --resume goes on from the last checkpoint"
    return exit_code(command, "interrupted" + resume * (arguments[:1] == ["run"]))


def script() -> None:
    """The commands ``fedsharp`` and ``artifact``, and ``python -m`` of either."""
    if guardian.needed(sys.argv[1:]):
        guardian.guarded()
    try:
        with interruptible():
            sys.exit(main())
    except KeyboardInterrupt:  # before the command had begun, or when it had ended
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    script()
