"""``python -m artifact``: the command line. Bad input ends in one line on standard error and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from artifact.cli import commands
from artifact.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 well, 2 bad input, 130 interrupted (a run keeps its last checkpoint)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        commands(arguments).main(arguments, prog_name="python -m artifact", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        print("error:", " ".join(error.format_message().split()), file=sys.stderr)
        return 2
    except UserError as error:
        print("error:", error, file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        print("interrupted; the same command with --resume goes on from the last checkpoint", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
