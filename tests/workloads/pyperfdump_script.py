"""Calls pyperfdump as the words say: `start_region=a` is start_region("a"), and a few words more."""

import ctypes
import mmap
import os
import resource
import signal
import sys
import threading
import time

words = sys.argv[1:]
rank = 0
if words and words[0] == "mpi":
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    del words[0]
if words and words[0] == "h5py":
    import h5py  # noqa: F401

    del words[0]

import pyperfdump  # noqa: E402

kept = []


def work(text):
    """Each rank does as much more than rank 0."""
    ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work(int(text) + rank)


def touch(text):
    memory = mmap.mmap(-1, int(text) * mmap.PAGESIZE)
    kept.append(memory)
    for page in range(int(text)):
        memory[page * mmap.PAGESIZE] = 1


def in_child(text):
    """The words of the child have colons between them."""
    child = os.fork()
    if child == 0:
        run(text.split(":"))
        sys.stderr.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def in_thread(text):
    thread = threading.Thread(target=run, args=(text.split(":"),))
    thread.start()
    thread.join()


def tries_init():
    try:
        pyperfdump.init()
    except pyperfdump.error as error:
        sys.stdout.write(f"{error}\n")
        assert isinstance(error, SystemError)


def prints_loaded():
    with open("/proc/self/maps") as maps:
        print(*sorted({line.split("/")[-1].strip() for line in maps if "/libhdf5" in line and "_hl" not in line}))


def run(words):
    for word in words:
        name, equals, text = word.partition("=")
        if name == "end":
            MPI.Finalize()
        elif name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "sleep":
            time.sleep(float(text))
        elif name == "set" or (name == "set_on_1" and rank == 1):
            variable, _, value = text.partition(":")
            os.environ[variable] = value
        elif name == "start_region_of_rank":
            pyperfdump.start_region(f"{text}{rank}")
        elif name == "start_region_number":
            pyperfdump.start_region(12)
        elif name in ("work", "touch", "in_child", "in_thread"):
            globals()[name](text)
        elif name == "limit":  # of the sizes of files, as a disk that is full
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(text) if text else resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        elif name == "close_all":
            os.closerange(3, 2000)
        elif name in ("tries_init", "prints_loaded"):
            globals()[name]()
        elif name == "modules":
            print(*sorted({"ctypes", "csv", "re", "glob", "fcntl"} & set(sys.modules)))
        elif name == "descriptors":
            print(len(os.listdir("/proc/self/fd")))
        elif name != "set_on_1":
            assert getattr(pyperfdump, name)(*([text] if equals else [])) is None


run(words)
