#!/usr/bin/env bash
# Builds allranks for aarch64 and tests it under emulation, on the Pythons of two releases of Debian for arm64:
#
#     tools/aarch64.sh test [options of pytest]
#     tools/aarch64.sh build                     only builds; see build/aarch64/*/venv/bin
#
# It wants meson, ninja and pytest on PATH (`make test-aarch64` does that), Debian's cross compiler and qemu-user. It needs
# no root, no chroot, and changes nothing outside of build/aarch64: packages for arm64 come from where this machine's apt
# has its own (AARCH64_MIRROR=URL: from there) and are unpacked, not installed. They are kept for the next time.
#
# The emulated interpreter is a shell script that starts qemu with it. Since the script's path is argv[0], Python takes it
# for its sys.executable: whatever it starts as such is emulated, too. A pyvenv.cfg makes its directory a venv.
set -euo pipefail

# One Python below 3.12 and one above, which have different engines. The first also has the unit tests.
SUITES=(bookworm trixie)
PACKAGES=(python3 libpython3-dev libc6-dev python3-numpy python3-greenlet)
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Programs that know their own counts and times, or compare them with cProfile's, and the traps of stubs.
TESTS=(
    test_counts.py
    test_random_programs.py
    test_c_functions.py
    test_c_functions_cprofile.py
    test_c_calls_seen.py
    test_c_traps.py
    # These take long, and depend on no machine.
    --deselect=tests/e2e/test_c_functions_cprofile.py::test_libraries
    --deselect=tests/e2e/test_c_traps.py::test_it_behaves_the_same
    # Of Debian's numpy 1 even functions in C are called from functions in Python.
    "--deselect=tests/e2e/test_c_traps.py::test_operators_of_arrays[py3.11]"
    --deselect=tests/e2e/test_c_traps.py::test_modules_by_pybind11 # the compiler is for C only
    # qemu makes up what /proc says of a process, by which children know whose they are.
    --deselect=tests/e2e/test_c_traps.py::test_fork_within_a_c_function
    --deselect=tests/e2e/test_c_traps.py::test_exec_within_a_c_function
    --deselect=tests/e2e/test_c_traps.py::test_interpreters_of_a_child
)

self=$(readlink -f "$0")
repo=$(dirname "$(dirname "$self")")
home=$repo/build/aarch64
label=aarch64
. "$repo/tools/debian.sh"

# ---- the interpreter ----

private_apt() {
    local remedy="packages for arm64 come from $mirror: set AARCH64_MIRROR=URL for another mirror of Debian"
    APT_CONFIG=$1/apt/apt.conf quietly apt-get -q -y "${@:2}"
}

# An apt that knows nothing of this machine but how to reach the mirror, and for which nothing is installed.
configure_apt() {
    local place=$1 apt=$1/apt
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    echo "deb [signed-by=$KEYRING] $mirror ${place##*/} main" >"$apt/sources.list"
    {
        print_apt_access
        cat <<-END
			APT::Architecture "arm64";
			APT::Architectures { "arm64"; };
			APT::Install-Recommends "false";
			APT::Sandbox::User "$(id -un)";
			Dir::State "$apt/state";
			Dir::State::status "$apt/status";
			Dir::Cache "$apt/cache";
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "/dev/null";
			Dir::Etc::sourcelist "$apt/sources.list";
			Dir::Etc::sourceparts "/dev/null";
			Dir::Etc::preferences "/dev/null";
			Dir::Etc::preferencesparts "/dev/null";
		END
    } >"$apt/apt.conf"
}

# Some packages still have files in /lib, which is a link on every system that they are installed on.
unpack() {
    local root=$1 directory package
    shift
    mkdir -p "$root"/usr/{bin,lib,sbin}
    for directory in bin lib sbin; do ln -s "usr/$directory" "$root/$directory"; done
    for package in "$@"; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner --keep-directory-symlink -C "$root" || return
    done
    # What installing would have chosen among several.
    for package in blas lapack; do
        ln -s "$package/lib$package.so.3" "$root/usr/lib/aarch64-linux-gnu/" || return
    done
}

make_root() {
    local place=$1 wanted=${PACKAGES[*]}
    [ "$(cat "$place/root/packages" 2>/dev/null)" != "$wanted" ] || return 0
    [ -e "$KEYRING" ] || fail "$KEYRING is missing (install debian-archive-keyring)"
    choose_mirror AARCH64_MIRROR
    say "getting Python of Debian ${place##*/} for arm64"
    rm -rf "$place"
    configure_apt "$place"
    private_apt "$place" update
    private_apt "$place" install --download-only "${PACKAGES[@]}"
    quietly unpack "$place/root" "$place"/apt/cache/archives/*.deb
    emulate_sys "$place"
    rm -rf "$place/apt"
    echo "$wanted" >"$place/root/packages"
}

# What qemu takes from this machine's /sys would be about this machine's processor.
emulate_sys() {
    local clock=$1/root/sys/devices/system/clocksource/clocksource0
    mkdir -p "$clock"
    echo arch_sys_counter >"$clock/current_clocksource"
}

# A script, and the command that it is for.
write_script() {
    printf '#!/bin/sh\nexec %s "$@"\n' "$2" >"$1"
    chmod +x "$1"
}

# Headers and libraries of that Debian come before those of the cross compiler, which may have another libc.
write_compiler() {
    local include=$2/usr/include
    write_script "$1" "aarch64-linux-gnu-gcc --sysroot='$2' -B'$2/usr/lib/aarch64-linux-gnu' \
        -isystem '$include/aarch64-linux-gnu' -isystem '$include'"
}

# Sets `version`. `allranks` is the command; it looks for its Python beside itself, which is in libexec.
make_venv() {
    local place=$1 venv=$1/venv interpreter emulate="qemu-aarch64 -L '$1/root' -0 \"\$0\""
    interpreter=$(readlink -f "$place/root/usr/bin/python3")
    version=${interpreter##*python}
    mkdir -p "$venv/bin" "$venv/libexec" "$venv/lib/python$version/site-packages"
    printf 'home = %s\ninclude-system-site-packages = true\n' "$place/root/usr/bin" >"$venv/pyvenv.cfg"
    write_script "$venv/bin/python" "$emulate '$interpreter'"
    write_script "$venv/bin/allranks" "$emulate '$venv/libexec/allranks'"
    write_compiler "$venv/bin/cc" "$place/root"
    ln -sf python "$venv/bin/python3"
    ln -sf ../bin/python "$venv/libexec/python3"
    printf "[constants]\nroot = '%s'\nbin = '%s'\n" "$place/root" "$venv/bin" >"$place/paths.ini"
    "$venv/bin/python" -c '' || fail "qemu-aarch64 does not run $interpreter (install a newer qemu-user)"
}

# ---- allranks ----

build() {
    local place=$1 tests=$2
    if [ ! -e "$place/build/build.ninja" ]; then
        quietly meson setup "$place/build" --cross-file "$place/paths.ini" --cross-file "$repo/tools/aarch64.ini" \
            --prefix "$place/venv" --bindir libexec -Dtests="$tests" \
            -Dpython.purelibdir="$place/venv/lib/python$version/site-packages" \
            -Dpython.platlibdir="$place/venv/lib/python$version/site-packages"
    fi
    say "compiling for Python $version"
    quietly meson install -C "$place/build"
}

# What the end-to-end tests know as stacks; tools/stacks.py writes the like for this machine's own Pythons.
list_stacks() {
    local entry='{"name": "%s", "python_version": "%s", "python": "%s", "compiler": "%s"}' lines=()
    while [ $# -gt 0 ]; do
        lines+=("$(printf "$entry" "aarch64-${1##*/}" "$2" "$1/venv/bin/python" "$1/venv/bin/cc")")
        shift 2
    done
    local IFS=,
    echo "{\"stacks\": [], \"plain\": [${lines[*]}], \"skipped\": []}" >"$home/stacks.json"
}

run_tests() {
    local place=$home/${SUITES[0]}
    say "unit tests"
    meson test -C "$place/build" --no-rebuild --no-suite unemulated --timeout-multiplier 10 --print-errorlogs
    # The live file's mapping is longer than the file, which qemu emulates only with this machine's own pages.
    say "unit tests with pages of 64 KiB"
    QEMU_PAGESIZE=65536 meson test -C "$place/build" --no-rebuild --print-errorlogs elf_slots
    say "end to end"
    cd "$repo/tests/e2e"
    ALLRANKS_STACKS="$home/stacks.json" python -m pytest -q -n "${TESTS_AT_ONCE:-$(nproc)}" "${TESTS[@]}" "$@" ||
        [ $? -eq 5 ]
}

verb=${1-}
case $verb in
test | build) shift ;;
*) sed -n '2,/^set/{/^set/!s/^# \?//p}' "$self" >&2 && exit 2 ;;
esac
if [ "$(uname -m)" = aarch64 ]; then
    say "this machine is one: make test has tested it"
    exit
fi
for tool in qemu-aarch64 aarch64-linux-gnu-gcc dpkg-deb apt-get meson; do
    command -v "$tool" >/dev/null || fail "no $tool on PATH (make test-aarch64 installs what is missing, on Debian and Ubuntu)"
done
mkdir -p "$home"
exec 9>"$home/lock"
flock -n 9 || fail "another tools/aarch64.sh is at work"
: >"$home/log"
made=()
for suite in "${SUITES[@]}"; do
    place=$home/$suite
    make_root "$place"
    make_venv "$place"
    build "$place" "$([ "$suite" = "${SUITES[0]}" ] && echo true || echo false)"
    made+=("$place" "$version")
done
list_stacks "${made[@]}"
[ "$verb" = build ] || run_tests "$@"
