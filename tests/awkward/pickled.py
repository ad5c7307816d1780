# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT spawn
# run: SCRIPT fork
# run: SCRIPT forkserver
# run: -m MODULE spawn
# run: -m MODULE fork
# slow: 3.9 3.11 3.13
"""Classes and functions of __main__ in pickles and in the processes of multiprocessing."""

import concurrent.futures
import multiprocessing
import os
import pickle
import sys


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    class Inner:
        pass


def square(point):
    return Point(point.x**2)


def fails(_):
    raise ValueError("in the child")


def surroundings(_):
    main = sys.modules["__main__"]
    return main.__name__, os.path.basename(main.__file__), sys.argv, __name__


def put(queue, event):
    event.wait()
    queue.put(Point(7))
    sys.exit(3)


def main(method):
    for thing in (Point(1), Point, square, Point.Inner, Point(2).__eq__):
        for protocol in (0, 2, pickle.HIGHEST_PROTOCOL):
            back = pickle.loads(pickle.dumps(thing, protocol))
        print(pickle.dumps(thing, 2), type(back))
    try:
        pickle.dumps(lambda: 1)
    except (pickle.PicklingError, AttributeError) as error:
        print(error)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        print([p.x for p in pool.map(square, map(Point, range(5)))])
        print(pool.map(surroundings, [0]))
        try:
            pool.map(fails, [1])
        except ValueError as error:
            print(error, type(error.__cause__).__name__)
    queue, event = context.Queue(), context.Event()
    process = context.Process(target=put, args=(queue, event))
    process.start()
    event.set()
    print(queue.get().x)
    process.join()
    print(process.exitcode)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        print(pool.submit(square, Point(3)).result().x)


if __name__ == "__main__":
    main(sys.argv[1])
