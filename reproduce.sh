#!/usr/bin/env bash
# The whole artifact from one script; `./reproduce.sh help` says what each verb does.
# Everything can be interrupted and started again: finished runs are looked up, unfinished ones go on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# ---- set-up ----------------------------------------------------------------------------------------------------------
LOCK=requirements.lock
STAMP=.venv/fedsharp-lock            # hash of the lock that .venv was filled from
UNFINISHED=.venv/fedsharp-unfinished # there while this script fills a .venv that it made

# Lines in one write, so that steps side by side do not come between them.
say() {
    local IFS=$'\n'
    printf '%s' "$*"$'\n'
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 2
}

# Exit code 0 when this interpreter has every package of the lock in its version (GPU libraries aside).
suits() {
    "$1" - "$LOCK" 2>/dev/null <<'PYTHON'
import re
import sys
from importlib import metadata

if sys.version_info < (3, 11):
    sys.exit(1)
for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", open(sys.argv[1]).read(), re.M):
    if not name.startswith(("nvidia-", "cuda-", "triton")) and metadata.version(name).split("+")[0] != version:
        sys.exit(1)
PYTHON
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

base_python() {
    local name
    for name in "${PYTHON:-python3.11}" python3.11 python3.12 python3.13 python3; do
        if new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
    fail "python: no Python 3.11 or newer is here; install one, or name it: PYTHON=/path/to/python3 ./reproduce.sh"
}

# Sets PY, the interpreter that everything else uses.
setup() {
    local wanted active
    wanted=$(sha256sum "$LOCK" | cut -d' ' -f1)
    active=$(command -v python3 || true)
    if [[ -n $active ]] && suits "$active"; then
        PY=$active
        say "environment: $PY (active, has the pinned packages)"
        return
    fi
    PY=$PWD/.venv/bin/python
    if [[ -e $UNFINISHED ]]; then
        say "environment: .venv is from an interrupted set-up and is made anew"
        rm -rf .venv
    elif [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]] || { [[ -x $PY ]] && suits "$PY"; }; then
        say "environment: .venv (has the pinned packages)"
        echo "$wanted" >"$STAMP"
        return
    fi
    fill "$wanted"
}

# uv unpacks into its cache, which several environments share; files of .venv are links to it where the disk is the same.
enough_room() {
    local cache=${UV_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}} environment_mb=7000
    while [[ ! -d $cache ]]; do cache=$(dirname "$cache"); done
    [[ $(stat -c %d .) == $(stat -c %d "$cache") ]] || room "$cache" "$environment_mb"
    room "$PWD" "$environment_mb"
}

room() { # folder, MB
    local free
    free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
    ((free >= $2)) || fail "disk: $free MB are free in $1; setting up .venv takes $2 MB there"
}

fill() {
    local wanted=$1
    say "environment: filling .venv from $LOCK: 7 GB on disk, 7 more where the cache of uv is on another; 1 to 15 minutes, by the speed of the network"
    if [[ ! -d .venv ]]; then
        local base
        enough_room
        base=$(base_python)
        mkdir .venv
        touch "$UNFINISHED"
        "$base" -m venv .venv || fail "venv: $base cannot make one; on Debian: apt install python3-venv"
    fi
    # Python compiles what it imports; most of what is installed is never imported
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
    "$PY" -m pip install -q --require-hashes -r <(sed -n '/^uv==/,/[^\\]$/p' "$LOCK")
    # uv downloads and unpacks side by side, but does not know pip's settings of an index
    "$PY" -m uv pip install --system-certs --python "$PY" --require-hashes --no-deps -r "$LOCK" ||
        "$PY" -m pip install --require-hashes -r "$LOCK"
    "$PY" -m pip install --no-deps --no-build-isolation -e .
    echo "$wanted" >"$STAMP"
    rm -f "$UNFINISHED"
}

# ---- verbs -----------------------------------------------------------------------------------------------------------

test_all() {
    local bad=0 types mypy
    say "" "tests: ruff, then pytest on tests/ and checks/ in two processes, with mypy beside them; about 23 minutes on two idle cores"
    types=$(mktemp)
    "$PY" -m mypy >"$types" 2>&1 &
    mypy=$!
    "$PY" -m ruff check . || bad=1
    "$PY" -m ruff format --check . || bad=1
    "$PY" -m pytest -n 2 --dist loadfile --durations 10 || bad=1
    wait "$mypy" || bad=1
    cat "$types"
    rm "$types"
    return $bad
}

usage() {
    cat <<'USAGE'
usage: ./reproduce.sh [setup | quick | laptop | paper | smoke | test]
  setup   make .venv from the lock file, unless the active environment already has the pinned packages
  quick   (default) the report of the stored evidence, then every table, figure and claim in miniature; minutes
  laptop  MNIST and Fashion-MNIST at the thesis' scale, CIFAR-10 for the others; hours, goes on where it was stopped
  paper   the papers' settings as declared in experiments/; needs a GPU or weeks
  smoke   does it work here? one run, two claims and the tests of the foundations; under a minute
  test    ruff, mypy and pytest; with FEDSHARP_NIGHTLY=1 also the few tests that wait for the night
USAGE
}

(($# <= 1)) || fail "arguments: '${*:2}' is not possible; allowed: nothing after '$1'"

case ${1:-quick} in
setup) setup ;;
quick | laptop | paper | smoke)
    setup
    # takes the place of this shell: a signal for ./reproduce.sh reaches what started the steps
    exec "$PY" -m artifact.reproduce "${1:-quick}"
    ;;
test)
    setup
    test_all
    ;;
help | -h | --help) usage ;;
*) fail "verb: '$1' is not possible; allowed: setup, quick, laptop, paper, smoke, test" ;;
esac
