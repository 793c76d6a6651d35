"""``python -m artifact.reproduce PROFILE``: what ``./reproduce.sh PROFILE`` does once the environment is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from artifact.base.errors import UserError
from artifact.reproduce.run import Reproduction
from artifact.reproduce.steps import PROFILES, steps


def main(arguments: list[str]) -> int:
    profile = arguments[0] if arguments else "quick"
    try:
        if len(arguments) > 1 or profile not in (*PROFILES, "smoke"):
            raise UserError("profile", " ".join(arguments), f"one of {', '.join(PROFILES)}, smoke")
        root = Path.cwd()
        # the notebooks show the verdicts that the first step has decided
        if profile in PROFILES:
            os.environ.setdefault("FEDSHARP_KEPT_CHECKS", str(root / "out" / profile / ".checks"))
        return Reproduction(profile, steps(profile), root, again=profile == "smoke").run()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
