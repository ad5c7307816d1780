#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the test stacks: .stacks/NAME is a venv with one MPI, one mpi4py, numpy and allranks.

For programs without MPI there is one more for every Python of this machine, .stacks/pyXY-plain, with some of the
packages that meddle with the interpreter. pyXY-debian is on the system's own Python, with its mpi4py, petsc4py, h5py
and cffi.

    tools/stacks.py                      make or refresh all of them
    tools/stacks.py --only NAME...       only these; `plain` and `debian` are all of that kind
    tools/stacks.py --list               what there is, and in which state; makes nothing
    STACK_PYTHONS="3.14 3.15" ...        for these versions of Python instead of an old and a new one

Profilers that tests compare with are in .stacks/peer-NAME-VERSION-pyXY, by themselves, since they and allranks answer to the
same imports; `peers` is all of them.

The end-to-end tests read .stacks/stacks.json. A stack that cannot be made here (no such interpreter, no such MPI) is
named there with the reason; only having none at all is an error. A call that finds everything as it should be does
nothing: a stack carries the recipe it was made by, and is made anew when that differs.

Why these: mpi4py 4 calls the large-count functions and comes as a wheel that looks for its MPI at run time, mpi4py 3.1
does neither. MPICH comes from PyPI because mpi4py's wheel wants libmpi.so.12, which Debian names libmpich.so.12; that
name is a stack of its own, `sysmpich`. Another is `mpiabi`: mpi4py compiled for the ABI of the MPI-5 standard, which MPICH 5
has beside its own.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".stacks"
CONSTRAINTS = ROOT / "tools/constraints.txt"
NUMPY = ROOT / "tools/requirements-numpy.txt"
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"
MPICH = "4.3.2"
MPICH_WITH_ABI = "5.0.2"
MPI4PY = {"mpi4py4": "4.1.2", "mpi4py31": "3.1.6"}
# What pip takes to build mpi4py: 3.1 does not compile with later ones.
SETUPTOOLS = {"mpi4py4": "82.0.1", "mpi4py31": "74.1.3"}
NEWEST_FOR_MPI4PY31 = "3.12"  # it does not compile on 3.13
PLAIN = "plain"  # without MPI
DEBIAN = "debian"  # all of Debian's own
SYSTEM_PYTHON = "/usr/bin/python3"
PLAIN_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
PLAIN_PACKAGES = ("coverage==7.6.12", "greenlet==3.1.1", "gevent==24.11.1")
NEWEST_FOR_PACKAGES = "3.13"  # later ones have no binaries of these
NEW_PLAIN_PACKAGES = ("coverage==7.17.2", "greenlet==3.5.6", "gevent==26.9.0")
PEERS = "peers"
# line_profiler: those whose files differ; the newest for each Python, since lines have other events on each.
LINE_PROFILERS = {"3.9": ("5.0.2",), "3.10": ("5.1.0",), "3.11": ("4.1.3", "4.2.0", "5.1.0"), "3.12": ("5.1.0",), "3.13": ("5.1.0",)}
NEW_PYTHONS = ("3.15", "3.14", "3.13", "3.12")
AT_ONCE = 2
STEP_LIMIT_S = 900

# One write per rank: launchers mix what ranks write piece by piece.
SMOKE = """
from mpi4py import MPI
print(f"{MPI.COMM_WORLD.Get_size()} {MPI.Get_library_version()}")
"""


class Skip(Exception):
    """A stack cannot be made; the text says why."""


@dataclass(frozen=True)
class Stack:
    python: str  # 3.11
    mpi: str  # openmpi | mpich | sysmpich | mpiabi | plain | debian
    mpi4py: str = ""  # key of MPI4PY

    @property
    def name(self) -> str:
        if not self.mpi4py:
            return f"py{self.python.replace('.', '')}-{self.mpi}"
        return f"py{self.python.replace('.', '')}-{self.mpi}-{self.mpi4py}"

    @property
    def venv(self) -> Path:
        return HOME / self.name

    @property
    def from_source(self) -> bool:
        """Whether mpi4py is compiled here: no wheel of it looks for Debian's MPICH, or has the standard's ABI."""
        return self.mpi4py == "mpi4py31" or self.mpi in ("sysmpich", "mpiabi")

    @property
    def mpich_version(self) -> str:
        """Of the MPICH that comes from PyPI; empty: the machine's own MPI is used."""
        return {"mpich": MPICH, "mpiabi": MPICH_WITH_ABI}.get(self.mpi, "")


@dataclass(frozen=True)
class Peer:
    package: str
    version: str
    python: str

    @property
    def name(self) -> str:
        return f"peer-{self.package}-{self.version}-py{self.python.replace('.', '')}"

    @property
    def venv(self) -> Path:
        return HOME / self.name

    @property
    def recipe(self) -> str:
        return f"{os.path.realpath(find_python(self.python) or '')}\n{self.package}=={self.version}\n{CONSTRAINTS.read_text()}"


def say(text: str) -> None:
    print(f"stacks: {text}", flush=True)


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def plan() -> list[Stack]:
    """An old and a new Python; mpi4py 3.1 takes the newest that it compiles on."""
    old = "3.11" if find_python("3.11") else RUNNING
    new = next(filter(find_python, NEW_PYTHONS), "3.12")
    versions = os.environ.get("STACK_PYTHONS", "").split() or [old, new]
    stacks = []
    for version in versions:
        for mpi4py in MPI4PY:
            usable = version
            if mpi4py == "mpi4py31":
                usable = min(version, NEWEST_FOR_MPI4PY31, key=version_key)
            stacks += [Stack(usable, mpi, mpi4py) for mpi in ("openmpi", "mpich")]
    stacks.append(stack_of_debian_mpich(versions))
    stacks.append(Stack(versions[0], "mpiabi", "mpi4py4"))
    stacks += [Stack(version, PLAIN) for version in PLAIN_PYTHONS if find_python(version)]
    system = python_version(SYSTEM_PYTHON)
    if system:
        stacks.append(Stack(system, DEBIAN))
    return list(dict.fromkeys(stacks))


def stack_of_debian_mpich(versions: list[str]) -> Stack:
    oldest = min(*versions, NEWEST_FOR_MPI4PY31, key=version_key)
    if find_python(oldest):
        return Stack(oldest, "sysmpich", "mpi4py31")
    return Stack(max(versions, key=version_key), "sysmpich", "mpi4py4")


# ---- what this machine has ----


@functools.cache
def find_python(version: str) -> str | None:
    name = f"python{version}"
    candidates = [sys.executable] if version == RUNNING else []
    candidates += [os.path.join(d, name) for d in os.get_exec_path()]
    candidates += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/{name}")))
    return next((path for path in candidates if python_version(path) == version), None)


def python_version(path: str) -> str | None:
    """Asked by running it, since a shim of that name may have nothing behind it."""
    if not os.access(path, os.X_OK):
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def launcher_version(path: str) -> str:
    done = subprocess.run([path, "--version"], check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def is_openmpi(launcher: str) -> bool:
    text = launcher_version(launcher)
    return "Open MPI" in text or "OpenRTE" in text  # the latter up to version 4


def launcher(stack: Stack) -> str:
    """Path of mpiexec. The compiler wrapper has the same place and ending."""
    if stack.mpich_version:
        return str(stack.venv / "bin/mpiexec")
    wanted = "openmpi" if stack.mpi in ("openmpi", DEBIAN) else "mpich"
    path = shutil.which(f"mpiexec.{wanted}") or shutil.which("mpiexec")
    if not path or is_openmpi(path) != (wanted == "openmpi"):
        raise Skip(f"no mpiexec of {'Open MPI' if wanted == 'openmpi' else 'MPICH'} on PATH")
    return path


def compiler(stack: Stack) -> str:
    path = Path(launcher(stack))
    if stack.mpi == "mpiabi":
        return str(path.with_name("mpicc_abi"))
    mpicc = path.with_name(path.name.replace("mpiexec", "mpicc"))
    if not mpicc.exists():
        raise Skip(f"no {mpicc.name} to build mpi4py {MPI4PY[stack.mpi4py]} with")
    return str(mpicc)


def mpiexec(stack: Stack) -> list[str]:
    argv = [launcher(stack)]
    if stack.mpi in ("openmpi", DEBIAN):
        argv.append("--oversubscribe")
        if os.geteuid() == 0:
            argv.append("--allow-run-as-root")
    return argv


# ---- the steps ----


def run(what: str, log: Path, argv: list[str], **env: str) -> str:
    """Runs one step, its output into the log of the stack; returns the output."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a+") as out:
        out.write(f"$ {' '.join(argv)}\n")
        start = out.tell()
        try:
            status = subprocess.run(
                argv, check=False, cwd=ROOT, env={**clean, **env}, timeout=STEP_LIMIT_S,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = -1
        if status:
            raise Skip(f"{what} failed, see {log.relative_to(ROOT)}")
        out.seek(start)
        return out.read()


def pip(what: str, log: Path, venv: Path, *args: str, **env: str) -> None:
    argv = [str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", *args]
    run(what, log, argv, **env)


def new_venv(python: str, venv: Path, log: Path, *options: str) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    log.unlink(missing_ok=True)
    run("making the venv", log, [python, "-m", "venv", *options, str(venv)])


def read_stamp(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def sources_digest() -> str:
    """Of all that the wheel is made of; the same files as SOURCES in the Makefile."""
    files = [ROOT / name for name in ("meson.build", "meson.options", "pyproject.toml")]
    files += [path for path in (ROOT / "tools").glob("*.py") if path != Path(__file__).resolve()]
    for folder in ("src", "python"):
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix != ".pyc"]
    digest = hashlib.sha256()
    for path in sorted(files):
        if path.is_file() and not path.name.startswith("."):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def allranks_wheel(version: str, digest: str) -> Path:
    """The wheel of the present sources for one version of Python, built unless it is there."""
    folder = HOME / "wheels" / f"allranks-{version}"
    stamp = folder / "sources"
    if read_stamp(stamp) != digest:
        say(f"allranks for Python {version}")
        log = HOME / "logs" / f"allranks-{version}.log"
        venv = build_venv(version, log)
        shutil.rmtree(folder, ignore_errors=True)
        pip(
            f"building allranks for Python {version}", log, venv,
            "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(folder),
            f"--config-settings=build-dir=build/stacks-{version}", ".",
            PATH=f"{venv / 'bin'}:{os.environ['PATH']}",
        )  # fmt: skip
        stamp.write_text(digest)
    return next(folder.glob("*.whl"))


def build_venv(version: str, log: Path) -> Path:
    python = find_python(version)
    if not python:
        raise Skip(f"no Python {version} found")
    venv = HOME / f"build-{version}"
    requirements = ROOT / "tools/requirements-build.txt"
    recipe = f"{os.path.realpath(python)}\n{requirements.read_text()}\n{CONSTRAINTS.read_text()}"
    stamp = venv / "recipe"
    if read_stamp(stamp) != recipe:
        new_venv(python, venv, log)
        pip("installing the build tools", log, venv, "install", "-q", "-r", str(requirements))
        stamp.write_text(recipe)
    return venv


def recipe_of(stack: Stack) -> str:
    """All that decides what the venv holds, allranks apart. Raises Skip where that is known not to work."""
    python = find_python(stack.python)
    if not python:
        raise Skip(f"no Python {stack.python} found")
    if stack.mpi == PLAIN:
        return "\n".join([os.path.realpath(python), *packages_of(stack), CONSTRAINTS.read_text()])
    if stack.mpi == DEBIAN:
        return f"{launcher_version(launcher(stack))}\n{debian_packages()}"
    recipe = [os.path.realpath(python), f"mpi4py {MPI4PY[stack.mpi4py]}", NUMPY.read_text()]
    if stack.mpich_version:
        recipe.append(f"mpich {stack.mpich_version}")
    else:
        recipe.append(launcher_version(launcher(stack)))
        if stack.from_source:
            compiler(stack)
    return "\n".join(recipe)


def debian_packages() -> str:
    packages = [f"python3-{name}" for name in ("mpi4py", "petsc4py", "h5py-mpi", "cffi")]
    asked = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", *packages]
    try:
        said = subprocess.run(asked, check=False, capture_output=True, text=True).stdout
    except OSError:
        said = ""
    if said.count(" ii ") != len(packages):
        raise Skip(f"not all of these are installed: {' '.join(packages)}")
    return said


def mpi4py_from_source(stack: Stack, recipe: str, log: Path) -> str:
    """Built once and kept. One per stack, since the RUNPATH of MPICH from PyPI names the venv."""
    folder = HOME / "wheels" / stack.name
    stamp = folder / "recipe"
    version = MPI4PY[stack.mpi4py]
    if read_stamp(stamp) != recipe:
        say(f"{stack.name}: building mpi4py {version}, takes a minute")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build_tools = folder / "constraints.txt"
        build_tools.write_text(f"setuptools=={SETUPTOOLS[stack.mpi4py]}\n")
        pip(
            f"building mpi4py {version}", log, stack.venv,
            "wheel", "--no-deps", "--no-binary", "mpi4py", "-w", str(folder), f"mpi4py=={version}",
            "--no-cache-dir",  # pip's cache does not know for which MPI it holds a wheel
            MPICC=compiler(stack),
            CFLAGS="-O0" if stack.mpi == "mpiabi" else os.environ.get("CFLAGS", ""),  # nothing is measured with it
            # Debian's Python names the system's libraries first, where libmpi is Open MPI's and
            # libfabric too old for MPICH from PyPI, which finds its own one when it runs.
            LDFLAGS=f"-L{stack.venv / 'lib'} -Wl,--allow-shlib-undefined",
            PIP_CONSTRAINT=str(build_tools),
            PIP_BUILD_CONSTRAINT=str(build_tools),  # what pip 25.3 and later read instead
        )  # fmt: skip
        stamp.write_text(recipe)
    return str(next(folder.glob("*.whl")))


def make_venv(stack: Stack, recipe: str, log: Path) -> None:
    say(f"{stack.name}: making the venv")
    if stack.mpi == DEBIAN:
        new_venv(SYSTEM_PYTHON, stack.venv, log, "--system-site-packages")
    else:
        new_venv(str(find_python(stack.python)), stack.venv, log)
    if stack.mpi == DEBIAN:
        smoke(stack, log)
    elif stack.mpi == PLAIN:
        pip("installing packages", log, stack.venv, "install", "-q", "--only-binary=:all:", "-c", str(CONSTRAINTS), *packages_of(stack))
    else:
        install_mpi(stack, recipe, log)
    (stack.venv / "recipe").write_text(recipe)


def packages_of(stack: Stack) -> tuple[str, ...]:
    is_new = version_key(stack.python) > version_key(NEWEST_FOR_PACKAGES)
    return NEW_PLAIN_PACKAGES if is_new else PLAIN_PACKAGES


def install_mpi(stack: Stack, recipe: str, log: Path) -> None:
    if stack.mpich_version:
        pip("installing mpich", log, stack.venv, "install", "-q", f"mpich=={stack.mpich_version}")
    mpi4py = f"mpi4py=={MPI4PY[stack.mpi4py]}"
    if stack.from_source:
        mpi4py = mpi4py_from_source(stack, recipe, log)
    pip("installing mpi4py", log, stack.venv, "install", "-q", mpi4py, "-r", str(NUMPY))
    try:
        smoke(stack, log)
    except Skip:
        shutil.rmtree(HOME / "wheels" / stack.name, ignore_errors=True)  # it may be to blame
        raise


def smoke(stack: Stack, log: Path) -> None:
    argv = [*mpiexec(stack), "-n", "2", str(stack.venv / "bin/python"), "-c", SMOKE]
    said = run("running mpi4py on 2 ranks", log, argv)
    if f"2 {'Open MPI' if stack.mpi in ('openmpi', DEBIAN) else 'MPICH'}" not in said:
        raise Skip(f"mpi4py found another MPI, see {log.relative_to(ROOT)}")


def is_ready(stack: Stack, recipe: str, digest: str) -> bool:
    made_by, holds = (read_stamp(stack.venv / name) for name in ("recipe", "allranks"))
    return made_by == recipe and holds == digest


def make_stack(stack: Stack, digest: str, wheels: dict[str, Path | Skip]) -> None:
    recipe = recipe_of(stack)
    if is_ready(stack, recipe, digest):
        return
    wheel = wheels[stack.python]
    if isinstance(wheel, Skip):
        raise wheel
    log = HOME / "logs" / f"{stack.name}.log"
    if read_stamp(stack.venv / "recipe") != recipe:
        make_venv(stack, recipe, log)
    say(f"{stack.name}: installing allranks")
    pip(
        "installing allranks", log, stack.venv,
        "install", "-q", "--no-deps", "--no-index", "--force-reinstall", str(wheel),
    )  # fmt: skip
    (stack.venv / "allranks").write_text(digest)


def attempt(function, *args):
    """The result, or the Skip that it ended in: one failure must not stop the others."""
    try:
        return function(*args)
    except Skip as skip:
        return skip


def make(stacks: list[Stack], digest: str) -> dict[Stack, Skip | None]:
    versions = sorted({s.python for s in stacks if find_python(s.python)})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wheels = dict(
            zip(versions, pool.map(lambda v: attempt(allranks_wheel, v, digest), versions))
        )
        done = pool.map(lambda s: attempt(make_stack, s, digest, wheels), stacks)
        return dict(zip(stacks, done))


def plan_peers() -> list[Peer]:
    return [
        Peer("line_profiler", version, python)
        for python, versions in LINE_PROFILERS.items()
        if find_python(python)
        for version in versions
    ]


def make_peer(peer: Peer) -> None:
    if read_stamp(peer.venv / "recipe") == peer.recipe:
        return
    log = HOME / "logs" / f"{peer.name}.log"
    say(f"{peer.name}: making the venv")
    new_venv(str(find_python(peer.python)), peer.venv, log)
    pip("installing it", log, peer.venv, "install", "-q", "--only-binary=:all:", "-c", str(CONSTRAINTS), f"{peer.package}=={peer.version}")
    (peer.venv / "recipe").write_text(peer.recipe)


def state_of_peer(peer: Peer) -> Skip | None:
    return None if read_stamp(peer.venv / "recipe") == peer.recipe else Skip("not made, or out of date")


def state_of(stack: Stack, digest: str) -> Skip | None:
    """As it is, without making anything."""
    recipe = attempt(recipe_of, stack)
    if isinstance(recipe, Skip):
        return recipe
    return None if is_ready(stack, recipe, digest) else Skip("not made, or out of date")


def write_json(outcome: dict[Stack, Skip | None], peers: dict[Peer, Skip | None]) -> None:
    ready = [
        {
            "name": s.name,
            "python_version": s.python,
            "mpi": "mpich" if s.mpi == "sysmpich" else s.mpi,
            "mpi4py_version": MPI4PY[s.mpi4py],
            "python": str(s.venv / "bin/python"),
            "mpiexec": mpiexec(s),
        }
        for s, skip in outcome.items()
        if not skip and s.mpi4py
    ]
    plain = [
        {"name": s.name, "python_version": s.python, "python": str(s.venv / "bin/python")}
        for s, skip in outcome.items()
        if not skip and s.mpi == PLAIN
    ]
    debian = [
        {"name": s.name, "python_version": s.python, "python": str(s.venv / "bin/python"), "mpiexec": mpiexec(s)}
        for s, skip in outcome.items()
        if not skip and s.mpi == DEBIAN
    ]
    others = [
        {"package": p.package, "version": p.version, "python_version": p.python, "python": str(p.venv / "bin/python")}
        for p, skip in peers.items()
        if not skip
    ]
    skipped = [{"name": s.name, "reason": str(skip)} for s, skip in (*outcome.items(), *peers.items()) if skip]
    new = HOME / "stacks.json.new"
    listed = {"stacks": ready, "plain": plain, "debian": debian, "peers": others, "skipped": skipped}
    new.write_text(json.dumps(listed, indent=2) + "\n")
    new.replace(HOME / "stacks.json")


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the virtual environments that tests run in.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="make only these stacks")
    parser.add_argument("--list", action="store_true", help="show their state, make nothing")
    options = parser.parse_args()

    stacks = plan()
    peers = plan_peers()
    unknown = set(options.only or ()) - {PLAIN, DEBIAN, PEERS} - {s.name for s in (*stacks, *peers)}
    if unknown:
        parser.error(f"no such stack: {' '.join(sorted(unknown))} (--list shows them)")
    digest = sources_digest()
    if options.list:
        for stack in stacks:
            print(f"{stack.name:24} {state_of(stack, digest) or 'ready'}")
        for peer in peers:
            print(f"{peer.name:24} {state_of_peer(peer) or 'ready'}")
        return 0

    HOME.mkdir(exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two makers at the same time would tear each other's venvs down
        wanted = [s for s in stacks if not options.only or {s.name, s.mpi} & set(options.only)]
        made = make(wanted, digest)
        outcome = {s: made[s] if s in made else state_of(s, digest) for s in stacks}
        for peer in peers:
            if not options.only or {peer.name, PEERS} & set(options.only):
                attempt(make_peer, peer)
        write_json(outcome, {peer: state_of_peer(peer) for peer in peers})
    for stack in wanted:
        if outcome[stack]:
            say(f"{stack.name}: skipped, {outcome[stack]}")
    n_ready = sum(1 for skip in outcome.values() if not skip)
    say(f"{n_ready} of {len(stacks)} ready")
    return 0 if n_ready else 1


if __name__ == "__main__":
    sys.exit(main())
