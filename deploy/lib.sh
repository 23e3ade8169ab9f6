# Shared by the scripts in this folder: sourced, never run.
# shellcheck shell=bash

set -euo pipefail

MARCH_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export MARCH_ROOT

# Names of what a machine without a registry makes for itself. They never pretend to be somebody
# else's image.
MARCH_LOCAL_BASE=marchland-base:bookworm
MARCH_LOCAL_ETCD=marchland-etcd:local
export MARCH_LOCAL_BASE MARCH_LOCAL_ETCD

say() { printf '%s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf '  hint: %s\n' "$hint" >&2; done
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Something that a reader of a long log must not overlook.
block() {
    local line='########################################################################'
    printf '%s\n' "$line" >&2
    for text in "$@"; do printf '##  %s\n' "$text" >&2; done
    printf '%s\n' "$line" >&2
}

# Runs one part of a longer work and remembers how long it took, also when it fails. The part is a
# shell of its own: after `||` or in an `if` the first error in it would not end it.
PARTS=()
part() {
    local name="$1" began=$SECONDS code=0
    shift
    say "==> $name"
    set +e
    (
        set -e
        "$@"
    )
    code=$?
    set -e
    PARTS+=("$(printf '%-34s %5d s%s' "$name" $((SECONDS - began)) "$( ((code)) && echo '  FAILED')")")
    if ((code)); then
        report_times
        exit "$code"
    fi
}

report_times() {
    say
    say 'part                                time'
    for text in "${PARTS[@]}"; do say "$text"; done
    say "$(printf '%-34s %5d s' total "$SECONDS")"
}

docker_answers() { has docker && timeout 20 docker info >/dev/null 2>&1; }

# Compose as a plugin of docker, or the older program of its own. MARCH_COMPOSE chooses.
find_compose() {
    if [[ -n ${MARCH_COMPOSE:-} ]]; then
        printf '%s' "$MARCH_COMPOSE"
    elif docker compose version >/dev/null 2>&1; then
        printf 'docker compose'
    elif has docker-compose; then
        printf 'docker-compose'
    else
        return 1
    fi
}

compose() {
    local found
    local -a program
    found="$(find_compose)" || fail 'there is neither docker compose nor docker-compose' \
        'install the compose plugin of Docker'
    read -r -a program <<<"$found"
    "${program[@]}" --project-directory "$MARCH_ROOT" -f "$MARCH_ROOT/docker-compose.yml" "$@"
}
