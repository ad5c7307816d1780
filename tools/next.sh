#!/usr/bin/env bash
# Debian's next release has the Pythons and MPIs that users will meet soon. This makes a chroot of it below build/next and
# runs the tests or the benchmark there, on every Python it has that allranks knows:
#
#     tools/next.sh test [options of pytest]
#     tools/next.sh bench [options of bench/run.py]
#     tools/next.sh run COMMAND...           whatever else, where the sources are
#     tools/next.sh remove                   what it has made; the next call begins with what there is then
#
# It is made once and kept. Packages come from where this machine's apt has its own (NEXT_MIRROR=URL: from there), by its
# proxies, and pip does as it does here. The sources are copied, so that nothing in there can change the working tree.
#
# All mounts are made in a mount namespace of their own: no other process sees them, and they end with the last process, however
# it ends. That takes root, or sudo without a password.
set -euo pipefail

SUITE=forky
FIRST_MINOR=14 # what is older is tested by `make test`

self=$(readlink -f "$0")
repo=$(dirname "$(dirname "$self")")
home=$repo/build/next
root=$home/root
copy=/allranks # in the chroot
label=next
. "$repo/tools/debian.sh"

# ---- where we are ----

become_root() {
    [ "$(id -u)" != 0 ] || return 0
    sudo -n true 2>/dev/null || fail "a chroot needs root: run it as root, or allow sudo without a password"
    local kept
    mapfile -t kept < <(env | grep -E '^(PIP_|NEXT_|PYTHON=|SSL_CERT_|[A-Za-z]+_(proxy|PROXY)=)')
    exec sudo -n env "${kept[@]}" "$self" "$@"
}

# Waits beside it instead of becoming it: unshare takes no notice of signals, and the first process of a pid namespace
# only of those that it asked for. With that process all others end.
become_private() {
    [ -z "${NEXT_IS_PRIVATE-}" ] || return 0
    unshare --mount --pid --fork true 2>/dev/null || fail "this machine allows no mount namespaces (run it outside of containers)"
    NEXT_IS_PRIVATE=1 setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child "$self" "$@" <&0 &
    local private=$! status=0
    trap 'kill -KILL "$private"' HUP INT TERM
    wait "$private" || status=$?
    exit "$status"
}

# ---- the chroot ----

# A mount below it would lose its files too.
delete() {
    local path=$1
    if awk -v path="$path/" 'index($5 "/", path) == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo; then
        fail "$path is in use: something is mounted there (see /proc/self/mountinfo)"
    fi
    rm -rf --one-file-system "$path"
}

# debootstrap and all that runs in the chroot follow the environment, apt there has its own settings.
take_proxies() {
    local http='' https=''
    eval "$(apt-config shell http Acquire::http::Proxy https Acquire::https::Proxy)"
    export http_proxy=${http_proxy:-$http} https_proxy=${https_proxy:-$https}
    [ -n "$http_proxy" ] || unset http_proxy
    [ -n "$https_proxy" ] || unset https_proxy
}

bootstrap() {
    local scripts=${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts script
    script=$scripts/$SUITE
    # A debootstrap that is older than the suite does not know its name. All of Debian's are made alike.
    [ -e "$script" ] || script=$scripts/sid
    choose_mirror NEXT_MIRROR
    say "making a chroot of Debian $SUITE, takes some minutes"
    delete "$home/root.new"
    mkdir -p "$home/debs"
    quietly debootstrap --variant=minbase --include=ca-certificates,make --cache-dir="$home/debs" \
        "$SUITE" "$home/root.new" "$mirror" "$script"
    print_apt_access >"$home/root.new/etc/apt/apt.conf.d/50host"
    mv "$home/root.new" "$root"
}

# The root is a mount of its own: otherwise no process in there could make a mount namespace, as tests do for their hosts.
mount_all() {
    mount --bind "$root" "$root"
    mkdir -p "$root/dev/shm"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
}

# Names are resolved and certificates trusted as they are here.
take_settings() {
    local file section name value
    for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e "$file" ] || cp --remove-destination -L "$file" "$root$file"
    done
    while IFS=. read -r section name; do
        [[ $section && $section != :* && $name == *=* ]] || continue
        value=${name#*=} name=PIP_${name%%=*} value=${value#\'} value=${value%\'}
        name=${name^^} name=${name//-/_} value=${value//\\n/ }
        [ -n "${!name-}" ] || export "$name=$value"
    done < <("${PYTHON:-python3}" -m pip config list 2>/dev/null)
    [[ ${PIP_FIND_LINKS-} != /* ]] || unset PIP_FIND_LINKS # a directory that is not there
}

inside() { chroot "$root" env -u NEXT_IS_PRIVATE -u PYTHON HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -c 'cd "$0" && exec "$@"' "$copy" "$@"; }

# Files that are no longer there go, what was built from them stays.
copy_sources() {
    mkdir -p "$root$copy"
    find "$root$copy" -mindepth 1 -maxdepth 1 ! -name build ! -name '.venv*' ! -name .stacks -exec rm -rf {} +
    tar -C "$repo" -c --exclude=./build --exclude='./.venv*' --exclude=./.stacks --exclude=./.git \
        --exclude='./.*_cache' --exclude=__pycache__ . | tar -C "$root$copy" -x --no-same-owner
}

# Sets `pythons`: all that the suite has and allranks knows.
install_pythons() {
    local minor last missing=()
    last=$(sed -n 's/^#define AR_PYTHON_MINOR_LAST //p' "$repo/src/runtime/pyversion.h")
    pythons=()
    for minor in $(seq "$FIRST_MINOR" "$last"); do
        [ -n "$(inside apt-cache madison "python3.$minor")" ] || continue
        pythons+=("python3.$minor")
        [ -x "$root/usr/bin/python3.$minor" ] || missing+=("python3.$minor")
        # CPython's tests of cProfile and pstats are run against allranks.Profile.
        [ -e "$root/usr/lib/python3.$minor/test/test_pstats.py" ] || missing+=("libpython3.$minor-testsuite")
    done
    [ ${#pythons[@]} -gt 0 ] || fail "Debian $SUITE has no Python that allranks knows"
    [ ${#missing[@]} -eq 0 ] || {
        say "installing ${missing[*]}"
        quietly inside apt-get -q -y update
        quietly inside apt-get -q -y install --no-install-recommends "${missing[@]}"
    }
}

enter() {
    mkdir -p "$home"
    # Two at the same time would build into the same places.
    exec 9>"$home/lock"
    flock -n 9 || fail "another tools/next.sh is at work"
    : >"$home/log"
    take_proxies
    [ -d "$root" ] || bootstrap
    mount_all
    take_settings
    copy_sources
    install_pythons
}

# ---- the verbs ----

summary=()
status=0

step() {
    local name=$1 result=passed
    shift
    say "$name"
    inside "$@" || { status=1 result=FAILED; }
    summary+=("$result  $name")
}

finish() {
    local versions
    versions=$(inside dpkg-query -W -f '${Package} ${Version}\n' "${pythons[@]}" openmpi-bin mpich 2>/dev/null || true)
    say "Debian $SUITE with" ${versions//$'\n'/, }
    for line in "${summary[@]}"; do say "$line"; done
    exit "$status"
}

run_tests() {
    local python
    for python in "${pythons[@]}"; do
        step "unit tests, $python" make --no-print-directory test-unit "PYTHON=$python"
    done
    step "end-to-end tests, ${pythons[*]}" env "STACK_PYTHONS=${pythons[*]#python}" \
        make --no-print-directory test-e2e "PYTHON=${pythons[0]}" "ARGS=${*@Q}"
    finish
}

run_bench() {
    local python
    for python in "${pythons[@]}"; do
        step "build, $python" make --no-print-directory build "PYTHON=$python"
    done
    [ "$status" != 0 ] || step "benchmark" make --no-print-directory bench "PYTHON=${pythons[0]}" "ARGS=${*@Q}"
    finish
}

verb=${1-}
case $verb in
test | bench | run | remove) ;;
*) sed -n '2,/^set/{/^set/!s/^# \?//p}' "$self" >&2 && exit 2 ;;
esac
if [ "$verb" != remove ] && [ -z "${NEXT_IS_PRIVATE-}" ]; then
    "$repo/tools/system-packages.sh" next
fi
become_root "$@"
if [ "$verb" = remove ]; then
    delete "$home"
    exit
fi
become_private "$@"
shift
enter
case $verb in
test) run_tests "$@" ;;
bench) run_bench "$@" ;;
run) inside "$@" ;;
esac
