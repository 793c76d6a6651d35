#!/usr/bin/env bash
# The whole artifact from one script; `./reproduce.sh help` says what each verb does.
# Everything can be interrupted and started again: finished runs are looked up, unfinished ones go on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# ---- what is run, one command per line -------------------------------------------------------------------------------
# minutes on two cores, ? where the step itself says how long it will take | what it shows | arguments of python -m
# & after the minutes: the step keeps one core busy and needs no neighbour's outcome, so two of them run side by side
steps() {
    local profile=$1 out=out/$1 training=? variants=$1 all= lookup=
    [[ $profile == quick ]] && training=1
    [[ $profile == paper ]] && lookup=" --lookup" # its cells at the paper's setting are asked for by name
    # the discrepancies have no larger setting of their own; who asks for the papers' has the machine for all cells
    [[ $profile == paper ]] && variants=laptop all=" --everything"
    cat <<STEPS
0.7 | theory claims decided on toy problems, compared with the ledger | checks --no-store
$training | every run that a table or a figure needs | artifact sweep --profile $profile$all
0.6 & | every table, ours beside the paper's, paired by seed | artifact table all --profile $profile --figures $out/figures
1.1 & | every figure: PNG, PDF, data | artifact figure all --profile $profile --folder $out/figures
0.1 & | what the released codes change, paired by seed | artifact variants --profile $variants --figures $out/figures
0.6 & | the figures of the checks, drawn from their evidence | checks --draw
0.1 & | what every method costs, counted, beside the papers' figures | artifact costs
0.1 & | what the stored runs say of the claims that training decides | artifact verdicts
0.2 & | the paper that stands in a folder of its own | artifact audit run audits/caldarola2025 --profile $profile$lookup --no-report
0.6 | the notebooks, executed | notebooks
0.5 | the report | artifact report --audit audits/caldarola2025
STEPS
}

# data sets that a profile needs beyond the handwritten digits, which ship with scikit-learn
data_sets() {
    case $1 in
    laptop) echo mnist fashion-mnist cifar10 ;;
    paper) echo mnist fashion-mnist emnist cifar10 cifar100 ;;
    esac
}

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

# Hash of all that the numbers come from; a step that ended well with the same hash and command has nothing to do.
sources() {
    find artifact audits theory checks claims experiments notebooks results "$LOCK" -type f ! -path '*/__pycache__/*' \
        ! -name '*.safetensors' ! -name .lock -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

duration() { # seconds as text
    local s=$1
    if ((s >= 3600)); then
        printf '%d h %02d min' $((s / 3600)) $((s % 3600 / 60))
    else
        printf '%d min %02d s' $((s / 60)) $((s % 60))
    fi
}

reproduce() {
    local profile=$1 number=0 minutes what command data
    failed=0 beside=()
    local plan total
    plan=$(steps "$profile" | sed 's/ *| */|/g')
    total=$(awk -F'|' '{ sum += $1 } END { printf "%d", sum + 0.5 }' <<<"$plan")
    say "" "profile $profile: $(wc -l <<<"$plan") steps, about $(duration $((total * 60))) on two cores when nothing is done yet"
    [[ $plan == *"?|"* ]] && say "and the step marked ?, which says how long it will take before it starts"
    awk -F'|' '{ sub(" &", "", $1); printf "  %d. %s (about %s min)\n", NR, $2, $1 }' <<<"$plan"
    say "outputs and figures: out/$profile/   runs: $([[ $profile == quick ]] && echo out/quick/ || echo results/)"
    mkdir -p "out/$profile/.done"
    export FEDSHARP_KEPT_CHECKS=${FEDSHARP_KEPT_CHECKS:-$PWD/out/$profile/.checks} # the notebooks show the verdicts of step 1
    for data in $(data_sets "$profile"); do
        "$PY" -m artifact data status "$data" --json | grep -q '"available": true' ||
            "$PY" -m artifact data fetch "$data"
    done
    while IFS='|' read -r minutes what command <&3; do
        number=$((number + 1))
        if [[ $minutes == *"&" ]]; then
            while (($(jobs -rp | wc -l) > 1)); do sleep 0.2; done
            set -m # a process group of its own, which an interruption ends whole
            step "$profile" "$number" "$minutes" "$what" "$command" &
            set +m
            beside+=($!)
        else
            finish
            step "$profile" "$number" "$minutes" "$what" "$command" || failed=$((failed + 1))
        fi
    done 3<<<"$plan"
    finish
    say "" "outputs: $PWD/out/$profile/" "figures: $PWD/out/$profile/figures/"
    say "total: $(duration $SECONDS), $failed of $number steps failed"
    say "report: $PWD/out/report/index.html"
    ((failed == 0))
}

# Waits for the steps that run side by side and counts those that failed.
finish() {
    local pid
    for pid in "${beside[@]}"; do wait "$pid" || failed=$((failed + 1)); done
    beside=()
}

# One step, its text kept; passed over when it ended well before and nothing that it depends on has changed.
step() {
    local profile=$1 number=$2 minutes=${3% &} what=$4 command=$5 start=$SECONDS name log before
    say "" "[$number] $what" "    python -m $command   (about $minutes min)"
    name=$(tr -c 'a-z0-9.\n' '-' <<<"${command%% --*}")
    log=out/$profile/$number-$name.txt
    before="$(sources) $command"
    if [[ -s $log && -d out/$profile/figures && -f out/$profile/.done/$number-$name && $(<"out/$profile/.done/$number-$name") == "$before" ]]; then
        say "[$number] nothing has changed since it was done; its lines are in $log"
        return
    fi
    # shellcheck disable=SC2086  # the command is a list of words
    if "$PY" -m $command >"$log"; then
        echo "$before" >"out/$profile/.done/$number-$name"
        say "$(tail -n 3 "$log")" "[$number] done in $(duration $((SECONDS - start))); all of its $(wc -l <"$log") lines are in $log"
    else
        say "$(tail -n 40 "$log")" "[$number] FAILED after $(duration $((SECONDS - start))), text in $log: python -m $command"
        return 1
    fi
}

test_all() {
    local bad=0 types mypy
    say "" "tests: ruff, then pytest on tests/ and checks/ in two processes, with mypy beside them; 4 to 12 minutes on two idle cores"
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
usage: ./reproduce.sh [setup | quick | laptop | paper | test]
  setup   make .venv from the lock file, unless the active environment already has the pinned packages
  quick   (default) every table, figure and claim in miniature on data that ship with scikit-learn; minutes
  laptop  MNIST and Fashion-MNIST at the thesis' scale, CIFAR-10 for the others; hours, goes on where it was stopped
  paper   the papers' settings as declared in experiments/; needs a GPU or weeks
  test    ruff, mypy and pytest, with an eighth of the slow tests; all with FEDSHARP_NIGHTLY=1
USAGE
}

interrupted() {
    local pid
    for pid in "${beside[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
    wait
    say "" "interrupted: the same command goes on from here"
    exit 130
}
beside=() # process groups of the steps that run side by side
trap interrupted INT TERM

(($# <= 1)) || fail "arguments: '${*:2}' is not possible; allowed: nothing after '$1'"

case ${1:-quick} in
setup) setup ;;
quick | laptop | paper)
    setup
    reproduce "${1:-quick}"
    ;;
test)
    setup
    test_all
    ;;
help | -h | --help) usage ;;
*) fail "verb: '$1' is not possible; allowed: setup, quick, laptop, paper, test" ;;
esac
