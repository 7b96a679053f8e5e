# Sourced by the other scripts: a folder of its own for all that a run writes, removed afterwards, and timed stages.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SGDONE_DATA="${SGDONE_DATA:-$PWD/../shared/data}"
export NUMBA_CACHE_DIR="$work/numba" MYPY_CACHE_DIR="$work/mypy" RUFF_CACHE_DIR="$work/ruff"
export COVERAGE_FILE="$work/coverage" HYPOTHESIS_STORAGE_DIRECTORY="$work/hypothesis"
export CI=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# stage NAME COMMAND...: run a command and print how long it took.
stage() {
    local name=$1 began=$SECONDS
    shift
    echo "== $name"
    "$@"
    echo "== $name: $((SECONDS - began)) s"
}

# A new virtual environment, by the interpreter PYTHON (python3 by default), active from here on.
new_environment() {
    "${PYTHON:-python3}" -m venv --clear "$work/venv"
    # shellcheck disable=SC1091
    source "$work/venv/bin/activate"
}
