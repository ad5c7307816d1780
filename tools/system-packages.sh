#!/usr/bin/env bash
# Installs the system packages that the named verbs need and do not find. Silent when there is nothing to do; never
# asks anything.
#
#     PYTHON=python3 tools/system-packages.sh build demo test bench lint fuzz model next aarch64
#
# What counts is whether a thing works (a header, a command), not which package it came from. Only what does not work
# is looked up under its Debian name and installed, if there is apt-get and the right to use it; otherwise the names
# are printed, and the exit status is 1.
set -euo pipefail

python=${PYTHON:-python3}
missing=() # Debian package names
trouble=() # what no package can mend

have() { command -v "$1" >/dev/null 2>&1; }
want() { have "$1" || missing+=("${@:2}"); }
# Of packages: those that are not installed, as far as apt knows them.
want_if_there() {
    local package
    for package; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' && continue
        if apt-cache show "$package" >/dev/null 2>&1; then missing+=("$package"); fi
    done
}
finds() { "$1" -E -xc -include "$2" /dev/null >/dev/null 2>&1; } # compiler, header

need_build() {
    # With --no-install-recommends gcc comes without libc's headers.
    finds cc stdio.h || missing+=(gcc libc6-dev)
    want pkg-config pkg-config
    # Traces as OTF2 are written with its library; without its header allranks is built without them.
    ! have apt-get || finds cc otf2/otf2.h || want_if_there libotf2-trace-dev
    need_python
}

need_python() {
    if [ "$python" = python3 ] && ! have python3; then
        missing+=(python3 python3-venv python3-dev)
        return
    fi
    local state
    state=$("$python" - 2>/dev/null <<'END'
import importlib.util, os, sys, sysconfig
print("debian" if sys.base_prefix == "/usr" else "other", "python%d.%d" % sys.version_info[:2],
      importlib.util.find_spec("ensurepip") is not None,
      os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
END
    ) || { trouble+=("$python does not run: set PYTHON to an interpreter that does"); return; }
    local origin name has_venv has_headers
    read -r origin name has_venv has_headers <<<"$state"
    if [ "$origin" = debian ]; then
        # python3-dev belongs to the default version; another one has packages under its own name.
        if [ "$(basename "$(readlink -f /usr/bin/python3)")" = "$name" ]; then name=python3; fi
        [ "$has_venv" = True ] || missing+=("$name-venv")
        [ "$has_headers" = True ] || missing+=("$name-dev")
    else
        [ "$has_venv" = True ] || trouble+=("$python has no ensurepip: it must be built with it to make a venv")
        [ "$has_headers" = True ] || trouble+=("$python has no Python.h: install the headers that belong to it")
    fi
}

need_demo() {
    have mpiexec.openmpi && return
    # Elsewhere than on Debian, mpi4py's wheel works with any MPI that is on PATH.
    if have mpiexec && { ! have apt-get || mpiexec --version 2>&1 | grep -qE 'Open MPI|OpenRTE'; }; then
        return
    fi
    missing+=(openmpi-bin)
}

need_test() {
    if ! have apt-get; then
        # The MPICH stacks bring theirs from PyPI, so that any one MPI is enough.
        finds mpicc mpi.h || missing+=(libopenmpi-dev)
        return
    fi
    finds mpicc.openmpi mpi.h || missing+=(libopenmpi-dev)
    # Debian's MPICH is one stack more, under another library name.
    { have mpiexec.mpich && finds mpicc.mpich mpi.h; } || missing+=(mpich libmpich-dev)
    # Libraries in C that call MPI, on the system's own Python, and a Slurm, which the tests start for themselves: 50 MB,
    # half a minute, once. Where they cannot be had, their tests are skipped.
    # python3-h5py chooses between its variants, with MPI and without; before Debian 14 the variants did. HDF5's two libraries come with them.
    want_if_there python3-mpi4py python3-petsc4py python3-h5py python3-h5py-mpi python3-cffi slurm-wlm munge
    # What reads the archives that allranks writes.
    want_if_there otf2-tools python3-otf2
    # In which Perfetto runs.
    have node || want_if_there nodejs
    want gfortran gfortran
    # The network of two hosts, which are namespaces.
    [ -x /usr/sbin/ip ] || want ip iproute2
}

need_bench() {
    have apt-get || return 0
    # Numerical codes, on the system's own Python; where they cannot be had they are not measured.
    want_if_there python3-petsc4py python3-mpi4py-fft gpaw gpaw-data python3-dolfinx-real
}

need_lint() {
    want clang-format clang-format
    want clang-tidy clang-tidy
    want cppcheck cppcheck
    # The analysis as WebAssembly: 150 MB, once. Where it cannot be had, its check is skipped.
    have apt-get || return 0
    have clang || want_if_there clang
    have wasm-ld || want_if_there lld
    [ -e /usr/include/wasm32-wasi/stdio.h ] || want_if_there wasi-libc
    have node || want_if_there nodejs
    # The library of the compiler is a package of its own, with the version in its name.
    have clang || return 0
    local version
    version=$(clang -dumpversion)
    [ -e "$(clang --target=wasm32-wasi -print-libgcc-file-name)" ] ||
        want_if_there "libclang-rt-${version%%.*}-dev-wasm32"
}

need_fuzz() {
    if ! have clang; then
        missing+=(clang)
        return
    fi
    # The libraries of the sanitizers and the fuzzer are a package of their own, with the version in its name.
    local version made
    version=$(clang -dumpversion)
    made=$(mktemp)
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -xc -fsanitize=fuzzer,address - -o "$made" 2>/dev/null || missing+=("libclang-rt-${version%%.*}-dev")
    rm -f "$made"
}

need_model() {
    want spin spin
}

need_next() {
    # Debian and Ubuntu only: elsewhere there is no apt to take the mirror from.
    have apt-get || trouble+=("tools/next.sh needs apt-get: it works on Debian and Ubuntu")
    [ -x /usr/sbin/debootstrap ] || want debootstrap debootstrap
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
    want unshare util-linux
}

need_aarch64() {
    # An aarch64 tests itself by `make test`.
    [ "$(uname -m)" != aarch64 ] || return 0
    # Debian and Ubuntu only: the interpreter for arm64 comes from there.
    have apt-get || trouble+=("tools/aarch64.sh needs apt-get: it works on Debian and Ubuntu")
    want qemu-aarch64 qemu-user
    want aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
}

check() {
    missing=() trouble=()
    local group
    for group in "$@"; do
        case $group in
        build | demo | test | bench | lint | fuzz | model | next | aarch64) "need_$group" ;;
        *) echo "usage: tools/system-packages.sh [build] [demo] [test] [bench] [lint] [fuzz] [model] [next] [aarch64]" >&2 && exit 2 ;;
        esac
    done
}

quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || { status=$?; cat "$log" >&2; }
    rm -f "$log"
    return "$status"
}

install() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
    have apt-get || return 1
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || return 1
        apt=(sudo -n "${apt[@]}")
    fi
    echo "setup: installing ${missing[*]}"
    # A source that cannot be reached is no reason to stop: the others may have it all.
    quietly "${apt[@]}" update || true
    quietly "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

check "$@"
# Which packages there are is known once apt has been asked, and what belongs to a compiler once it is there: hence several times.
for _ in 1 2 3; do
    if [ ${#missing[@]} -gt 0 ]; then
        install || break
        check "$@"
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: missing for $*, by their Debian names: ${missing[*]}"
    if have apt-get; then
        echo "setup: install them with:  sudo apt-get install ${missing[*]}"
    else
        echo "setup: install what your system calls them, then run make again"
    fi
fi >&2
for line in ${trouble[@]+"${trouble[@]}"}; do
    echo "setup: $line" >&2
done
[ $((${#missing[@]} + ${#trouble[@]})) = 0 ]
