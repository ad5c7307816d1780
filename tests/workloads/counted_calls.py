"""Does a known amount of work in functions of every kind, and prints how much each has done, with all that it calls."""

import ctypes
import json

library = ctypes.CDLL(None)
done = 0  # units of work so far
inclusive = {}  # by function, of outermost calls
depth = {}


def work(n):
    global done
    done += n
    library.shim_work(ctypes.c_longlong(n))


class counted:
    """What is done inside counts for a name, once however deep it calls itself."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        depth[self.name] = depth.get(self.name, 0) + 1
        self.before = done

    def __exit__(self, *_):
        depth[self.name] -= 1
        if not depth[self.name]:
            inclusive[self.name] = inclusive.get(self.name, 0) + done - self.before


def fib(n):
    with counted("fib"):
        work(n)
        return n if n < 2 else fib(n - 1) + fib(n - 2)


def generate(n):
    for i in range(n):
        with counted("generate"):
            work(i)
        yield i


def fails():
    with counted("fails"):
        work(17)
        raise ValueError


class Solver:
    def step(self):
        with counted("Solver.step" if hasattr((lambda: 0).__code__, "co_qualname") else "step"):
            work(5)
            helper()


def helper():
    with counted("helper"):
        work(2)


def main():
    with counted("main"):
        work(3)
        fib(8)
        for _ in generate(6):
            work(100)
        try:
            fails()
        except ValueError:
            helper()
        Solver().step()


main()
print(json.dumps(inclusive))
