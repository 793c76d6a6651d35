"""Every line of Containerfile in order, in a clean folder: ``python tests/door/container_lines.py FOLDER``.

For machines without a builder of images. The folder takes the place of the image's file system below WORKDIR; packages
of Debian and the interpreter are those of this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def instructions() -> list[tuple[str, str]]:
    """(word, rest) of every instruction; a line that ends in a backslash goes on."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [(line.split()[0], line.split(None, 1)[1]) for line in lines if line and not line.startswith("#")]


def tracked() -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def copy(words: list[str], folder: Path) -> None:
    """``COPY``: what git holds of a source; a folder's content goes into the target."""
    *sources, target = words
    for source in sources:
        whole = source == "." or (ROOT / source).is_dir()
        found = [name for name in tracked() if source == "." or name == source or name.startswith(f"{source}/")]
        if not found:
            raise SystemExit(f"COPY {source}: nothing in git has that name")
        for name in found:
            inside = name.removeprefix(f"{source}/") if whole and source != "." else name
            place = folder / target / (inside if whole else Path(name).name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place, follow_symlinks=False)


def main(folder: Path) -> int:
    folder.mkdir(parents=True)
    for word, rest in instructions():
        print(f"{word} {rest}", flush=True)
        if word == "COPY":
            copy(rest.split(), folder)
        elif word == "RUN" and not rest.startswith("apt-get"):
            subprocess.run(["bash", "-c", rest], cwd=folder, check=True)
        elif word == "CMD":
            return subprocess.run(json.loads(rest), cwd=folder, check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
