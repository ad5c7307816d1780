# SPDX-License-Identifier: BSD-3-Clause
"""HDF5 for pyperfdump.py, through the HDF5 library of the machine or of h5py.

    /<region>/<event>       int64 of shape (ranks, 1, N + 1): the k-th save of the region is at [rank, 0, k], the last one is always 0
    /<region>/Runtime       seconds, float64

The library is opened with RTLD_LOCAL when a dump is to be HDF5: nothing of it is known when allranks is built. It is that of
$ALLRANKS_HDF5; or the one that is loaded already, by h5py for instance; or the first that is found and fits: one that was built for the
MPI library of this process, with which ranks write together, or else one that was built without MPI. A library for another MPI is
never opened, since it would load that as well.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import re
import sys
from contextlib import contextmanager, suppress
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_uint, c_uint64, c_void_p

from allranks.compat._pdump_files import RUNTIME, SaveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from allranks.compat._pdump_files import Row
    from allranks.compat._pdump_ranks import Ranks

_HDF5 = re.compile(r"libhdf5(_[a-z0-9]+)*(-[0-9a-f]+)?\.so[.\d]*$")
_OTHER_PARTS = re.compile(r"hl|cpp|fortran|f90|java|tools|test")  # of HDF5's other libraries
_MPI = re.compile(r"libmpi(ch|_abi)?\.so[.\d]*$|libmpich\w*\.so[.\d]*$")
_NEEDED_MPI = re.compile(rb"\0(libmpi(?:ch\w*|_abi)?\.so[.\d]*)\0")


class Unavailable(Exception):
    """There is no library that can be used; the text says why, and what would help."""


# ---- finding a library ----


def _is_hdf5(path: str) -> bool:
    name = os.path.basename(path)
    return bool(_HDF5.match(name)) and not _OTHER_PARTS.search(name)


def _mapped() -> list[str]:
    """The files that this process has loaded."""
    try:
        with open("/proc/self/maps", errors="surrogateescape") as file:
            words = [line.split(None, 5) for line in file]
    except OSError:
        return []
    return list(dict.fromkeys(each[5].rstrip("\n") for each in words if len(each) == 6 and each[5].startswith("/")))


def _in_cache() -> list[str]:
    """Where the dynamic linker finds libraries of that name."""
    try:
        with open("/etc/ld.so.cache", "rb") as file:
            found = re.findall(rb"\0(/[^\0]*/libhdf5[^\0/]*\.so[.\d]*)(?=\0)", file.read())
    except OSError:
        return []
    return [os.fsdecode(path) for path in found]


def _in_directories() -> list[str]:
    directories = [os.path.join(entry, "h5py.libs") for entry in sys.path if entry]
    directories += [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    directories.append(os.path.join(sys.prefix, "lib"))
    return [path for each in directories for path in sorted(glob.glob(os.path.join(glob.escape(each), "libhdf5*.so*")))]


def _needed_mpi(path: str) -> str:
    """The name of the MPI library that this one was built for; nothing: it was built without MPI."""
    with open(path, "rb") as file:
        found = _NEEDED_MPI.search(file.read())
    return found.group(1).decode() if found else ""


class _Candidate:
    def __init__(self, path: str, mpis: list[str]) -> None:
        self.path = os.path.realpath(path)
        self.mpi = _needed_mpi(self.path)
        self.has_our_mpi = any(name == self.mpi or name.startswith(self.mpi + ".") for name in mpis)
        self.fits = not self.mpi or self.has_our_mpi or not mpis


def _candidates(ranks: Ranks, mapped: list[str]) -> Iterator[_Candidate]:
    """The best ones first."""
    mpis = [os.path.basename(path) for path in mapped if _MPI.match(os.path.basename(path))]
    loaded = [_Candidate(path, mpis) for path in mapped if _is_hdf5(path)]
    yield from loaded
    found = {}
    for path in _in_directories() + _in_cache():
        if _is_hdf5(path) and os.path.exists(path):
            each = _Candidate(path, mpis)
            found[each.path] = each
    if ranks.has_mpi:
        yield from (each for each in found.values() if each.mpi and each.has_our_mpi)
    yield from (each for each in found.values() if not each.mpi)
    yield from (each for each in found.values() if each.mpi and each.fits)


def open_library(ranks: Ranks) -> Hdf5:
    """The best one; Unavailable: there is none."""
    mapped = _mapped()
    mpis = [os.path.basename(path) for path in mapped if _MPI.match(os.path.basename(path))]
    named = os.environ.get("ALLRANKS_HDF5", "")
    if named:
        try:
            return Hdf5(_Candidate(named, mpis), ranks)
        except OSError as why:
            raise Unavailable(f"ALLRANKS_HDF5={named}: {why.strerror or why}") from None
    problem = "no libhdf5 is found here (install HDF5 or h5py, or set ALLRANKS_HDF5 to the path of libhdf5.so)"
    for each in _candidates(ranks, mapped):
        try:
            return Hdf5(each, ranks)
        except (OSError, Unavailable) as why:
            problem = str(why)
    raise Unavailable(problem)


# ---- the library ----

_hid, _herr, _hsize = c_int64, c_int, c_uint64

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "H5open": (_herr, []),
    "H5get_libversion": (_herr, [POINTER(c_uint)] * 3),
    "H5Eget_auto2": (_herr, [_hid, POINTER(c_void_p), POINTER(c_void_p)]),
    "H5Eset_auto2": (_herr, [_hid, c_void_p, c_void_p]),
    "H5Ewalk2": (_herr, [_hid, c_int, c_void_p, c_void_p]),
    "H5Fcreate": (_hid, [c_char_p, c_uint, _hid, _hid]),
    "H5Fopen": (_hid, [c_char_p, c_uint, _hid]),
    "H5Fclose": (_herr, [_hid]),
    "H5Pcreate": (_hid, [_hid]),
    "H5Pclose": (_herr, [_hid]),
    "H5Pset_chunk": (_herr, [_hid, c_int, POINTER(_hsize)]),
    "H5Pset_create_intermediate_group": (_herr, [_hid, c_uint]),
    "H5Lexists": (c_int, [_hid, c_char_p, _hid]),
    "H5Dcreate2": (_hid, [_hid, c_char_p, _hid, _hid, _hid, _hid, _hid]),
    "H5Dopen2": (_hid, [_hid, c_char_p, _hid]),
    "H5Dset_extent": (_herr, [_hid, POINTER(_hsize)]),
    "H5Dget_space": (_hid, [_hid]),
    "H5Dwrite": (_herr, [_hid, _hid, _hid, _hid, _hid, c_void_p]),
    "H5Dclose": (_herr, [_hid]),
    "H5Screate_simple": (_hid, [c_int, POINTER(_hsize), POINTER(_hsize)]),
    "H5Sget_simple_extent_ndims": (c_int, [_hid]),
    "H5Sget_simple_extent_dims": (c_int, [_hid, POINTER(_hsize), POINTER(_hsize)]),
    "H5Sselect_hyperslab": (_herr, [_hid, c_int, *[POINTER(_hsize)] * 4]),
    "H5Sclose": (_herr, [_hid]),
}
_VARIABLES = ("H5P_CLS_FILE_ACCESS_ID_g", "H5P_CLS_DATASET_CREATE_ID_g", "H5P_CLS_LINK_CREATE_ID_g", "H5T_NATIVE_LLONG_g", "H5T_NATIVE_DOUBLE_g")
_DEFAULT, _ALL = 0, 0
_READ_WRITE, _TRUNCATE = 1, 2
_UNLIMITED = (1 << 64) - 1
_OLDEST = (1, 10)  # with identifiers of 64 bits


class _Error(ctypes.Structure):
    _fields_ = [
        ("cls", _hid), ("major", _hid), ("minor", _hid), ("line", c_uint),
        ("function", c_char_p), ("file", c_char_p), ("text", c_char_p),
    ]  # fmt: skip


_Visitor = ctypes.PYFUNCTYPE(c_int, c_uint, POINTER(_Error), c_void_p)


class Hdf5:
    """The library. Its functions keep the GIL, so that no other thread calls it meanwhile."""

    def __init__(self, found: _Candidate, ranks: Ranks) -> None:
        if not found.fits:
            raise Unavailable(f"{found.path}: built for another MPI, {found.mpi} (set ALLRANKS_HDF5 to the path of another libhdf5.so)")
        self.path = found.path
        self.ranks = ranks
        self.lib: Any = ctypes.PyDLL(found.path, mode=ctypes.RTLD_LOCAL)
        try:
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(self.lib, name)
                function.restype, function.argtypes = result, arguments
            self._check_version()
            self.lib.H5open()
            self.ids = {name: _hid.in_dll(self.lib, name).value for name in _VARIABLES}
        except (AttributeError, ValueError) as why:
            raise Unavailable(f"{found.path}: no HDF5 library of version {_OLDEST[0]}.{_OLDEST[1]} or later ({why})") from None
        has_mpio = found.has_our_mpi and hasattr(self.lib, "H5Pset_fapl_mpio")
        self.is_parallel = ranks.has_mpi and has_mpio
        if self.is_parallel:
            each: Any = ranks
            self.lib.H5Pset_fapl_mpio.restype = _herr
            self.lib.H5Pset_fapl_mpio.argtypes = [_hid, type(each.handle(each.comm)), type(each.handle(each.mpi.INFO_NULL))]

    def _check_version(self) -> None:
        numbers = [c_uint(), c_uint(), c_uint()]
        self.lib.H5get_libversion(*map(byref, numbers))
        version = tuple(each.value for each in numbers)
        if version[:2] < _OLDEST:
            raise ValueError(f"this is {'.'.join(map(str, version))}")

    # -- errors --

    @contextmanager
    def _silent(self) -> Iterator[None]:
        """Without what HDF5 prints by itself, and not at the same time as h5py, which has a lock for that."""
        lock = getattr(sys.modules.get("h5py._objects"), "phil", None)
        function, data = c_void_p(), c_void_p()
        if lock:
            lock.acquire()
        self.lib.H5Eget_auto2(0, byref(function), byref(data))
        self.lib.H5Eset_auto2(0, None, None)
        try:
            yield
        finally:
            self.lib.H5Eset_auto2(0, function, data)
            if lock:
                lock.release()

    def _reason(self) -> str:
        """Of the last failure, the innermost one."""
        texts: list[str] = []

        def visit(_number: int, error: Any, _data: Any) -> int:
            texts.append((error.contents.text or b"").decode("utf-8", "replace"))
            return 0

        visitor = _Visitor(visit)
        self.lib.H5Ewalk2(0, 0, visitor, None)
        return " ".join(texts[0].split()) if texts else "HDF5 does not say why"

    def _need(self, answer: int, what: str) -> int:
        if answer < 0:
            raise SaveError(f"{what}: {self._reason()}")
        return answer

    @contextmanager
    def _open(self, identifier: int, close: str, what: str) -> Iterator[int]:
        self._need(identifier, what)
        try:
            yield identifier
        except BaseException:
            getattr(self.lib, close)(identifier)
            raise
        self._need(getattr(self.lib, close)(identifier), what)

    # -- saving --

    def save(self, path: str, events: list[str], regions: dict[str, list[Row]]) -> None:
        """Rows of all ranks by region. SaveError says what went wrong."""
        with locked(path, self.room_for(events, regions)) as exists:
            self._save(path, exists, _DEFAULT, events, regions)

    def room_for(self, events: list[str], regions: Any) -> int:
        """More bytes than a save may add to the file."""
        n_datasets = (len(events) + 1) * len(regions)
        return 65536 + n_datasets * (16384 + 16 * self.ranks.size)

    def save_together(self, path: str, exists: bool, events: list[str], row: Row) -> None:
        """That of this rank, while the others save theirs of the same region."""
        ranks: Any = self.ranks
        comm, info = ranks.handle(ranks.comm), ranks.handle(ranks.mpi.INFO_NULL)
        with self._open(self.lib.H5Pcreate(self.ids["H5P_CLS_FILE_ACCESS_ID_g"]), "H5Pclose", path) as access:
            self._need(self.lib.H5Pset_fapl_mpio(access, comm, info), path)
            self._save(path, exists, access, events, {row[0]: [row]})

    def _save(self, path: str, exists: bool, access: int, events: list[str], regions: dict[str, list[Row]]) -> None:
        with self._silent(), self._file(path, exists, access) as file:
            for region, rows in regions.items():
                group = _group(region)
                for i, event in enumerate(events):
                    values = (c_int64 * len(rows))(*[_signed(each[1][i]) for each in rows])
                    self._append(file, f"{group}/{_member(event)}", "H5T_NATIVE_LLONG_g", values, path)
                seconds = (c_double * len(rows))(*[each[2] / 1e9 for each in rows])
                self._append(file, f"{group}/{RUNTIME}", "H5T_NATIVE_DOUBLE_g", seconds, path)

    @contextmanager
    def _file(self, path: str, exists: bool, access: int) -> Iterator[int]:
        name, lib = os.fsencode(path), self.lib
        opened = lib.H5Fopen(name, _READ_WRITE, access) if exists else lib.H5Fcreate(name, _TRUNCATE, _DEFAULT, access)
        with self._open(opened, "H5Fclose", path) as file:
            yield file

    def _append(self, file: int, name: str, kind: str, values: Any, path: str) -> None:
        what = f"{path}: {name}"
        size, lib = self.ranks.size, self.lib
        if self._exists(file, name):
            dataset = lib.H5Dopen2(file, os.fsencode(name), _DEFAULT)
        else:
            dataset = self._create(file, name, kind, what)
        with self._open(dataset, "H5Dclose", what):
            n_saved = self._n_saved(dataset, what)
            self._need(lib.H5Dset_extent(dataset, _sizes(size, 1, n_saved + 2)), what)
            with self._open(lib.H5Dget_space(dataset), "H5Sclose", what) as space, self._open(
                lib.H5Screate_simple(1, _sizes(len(values)), None), "H5Sclose", what
            ) as memory:
                first = self.ranks.rank if len(values) < size else 0
                start, count = _sizes(first, 0, n_saved), _sizes(len(values), 1, 1)
                self._need(lib.H5Sselect_hyperslab(space, 0, start, None, count, None), what)
                self._need(lib.H5Dwrite(dataset, self.ids[kind], memory, space, _DEFAULT, values), what)

    def _exists(self, file: int, name: str) -> bool:
        """Asked from the outermost group inwards."""
        parts = name.split("/")
        return all(
            self.lib.H5Lexists(file, os.fsencode("/".join(parts[: n + 1])), _DEFAULT) > 0 for n in range(len(parts))
        )

    def _create(self, file: int, name: str, kind: str, what: str) -> int:
        size, lib = self.ranks.size, self.lib
        with self._open(lib.H5Pcreate(self.ids["H5P_CLS_DATASET_CREATE_ID_g"]), "H5Pclose", what) as creation, self._open(
            lib.H5Pcreate(self.ids["H5P_CLS_LINK_CREATE_ID_g"]), "H5Pclose", what
        ) as linking, self._open(
            lib.H5Screate_simple(3, _sizes(size, 1, 1), _sizes(size, 1, _UNLIMITED)), "H5Sclose", what
        ) as space:
            self._need(lib.H5Pset_chunk(creation, 3, _sizes(size, 1, 1)), what)
            self._need(lib.H5Pset_create_intermediate_group(linking, 1), what)
            made: int = lib.H5Dcreate2(file, os.fsencode(name), self.ids[kind], space, linking, creation, _DEFAULT)
            return self._need(made, what)

    def _n_saved(self, dataset: int, what: str) -> int:
        with self._open(self.lib.H5Dget_space(dataset), "H5Sclose", what) as space:
            sizes = _sizes(0, 0, 0)
            if self.lib.H5Sget_simple_extent_ndims(space) == 3:
                self.lib.H5Sget_simple_extent_dims(space, sizes, None)
        if tuple(sizes[:2]) != (self.ranks.size, 1) or sizes[2] < 1:
            raise SaveError(f"{what}: not of this shape, ({self.ranks.size}, 1, N + 1) (set PDUMP_FILENAME to another name)")
        return int(sizes[2]) - 1


def _sizes(*numbers: int) -> Any:
    return (_hsize * len(numbers))(*numbers)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _group(region: str) -> str:
    """A region a/b is group b in group a. HDF5 takes a NUL as the end of a name, and "." as no name."""
    parts = [part if part != "." else "_" for part in region.replace("\0", "_").split("/") if part]
    return "/".join(parts) or "_"


def _member(event: str) -> str:
    return event.replace("/", "_")


_next_trial_s = 0.0


def _need_room(file: int, size: int, n_bytes: int) -> None:
    """OSError: the file cannot grow by so much.

    After a write that fails HDF5 ends the process when it exits (SIGSEGV, 1.10.8), so none is to fail. Quotas are known only by
    taking the room, which takes some file systems milliseconds: once a second. HDF5 gets it back.
    """
    global _next_trial_s
    import resource
    from time import monotonic

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and size + n_bytes > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    with suppress(OSError):
        system = os.fstatvfs(file)
        if monotonic() < _next_trial_s and system.f_bavail * system.f_frsize > n_bytes:
            return
    try:
        os.posix_fallocate(file, size, n_bytes)
        _next_trial_s = monotonic() + 1
    except OSError as why:
        if why.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
    finally:
        os.ftruncate(file, size)


@contextmanager
def locked(path: str, n_bytes: int) -> Iterator[bool]:
    """Whether there is a file already; OSError: there is no room for so much more.

    Other processes that append, as children do, wait: HDF5 itself would fail.
    """
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.lockf(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        _need_room(file, size, n_bytes)
        yield size > 0
    finally:
        os.close(file)
