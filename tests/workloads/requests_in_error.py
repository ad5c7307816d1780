# SPDX-License-Identifier: BSD-3-Clause
"""Proves that requests which fail are told from those that do not, and that the program learns of them as ever. The first of two ranks sends
to itself, and some receives have too little room, of which Open MPI makes no error here. Prints what each call said, how many requests
there were, and how many bytes came.
"""

import json

from mpi4py import MPI

comm = MPI.COMM_WORLD.Dup()
comm.Set_errhandler(MPI.ERRORS_RETURN)
said = []
done = {"bytes": 0, "requests": 0}
came = {2: 0, 4: 0}


def post(rooms):
    """A receive for each, of 8 bytes, and then the sends."""
    done["requests"] += 2 * len(rooms)
    done["bytes"] += sum(8 if room >= 8 else came[room] for room in rooms)
    receives = [comm.Irecv(bytearray(room), 0, tag) for tag, room in enumerate(rooms)]
    return receives + [comm.Isend(b"8 bytes.", 0, tag) for tag in range(len(rooms))]


def attempt(what, *arguments):
    try:
        result = what(*arguments)
    except MPI.Exception as error:
        result = error.Get_error_class()
    return result


def try_out(room):
    """How many bytes of 8 come where there is room for fewer."""
    status = MPI.Status()
    receive, send = post([room])
    error = attempt(receive.Wait, status)
    send.Wait()
    came[room] = status.Get_count(MPI.BYTE) if error is True else room
    done["bytes"] += came[room]


def classes(statuses):
    return [MPI.Get_error_class(status.error) for status in statuses]


def all_at_once(complete, statuses):
    requests = post([8, 4, 100, 2])
    result = attempt(complete, requests, statuses)
    said.append([complete.__name__, result, [request == MPI.REQUEST_NULL for request in requests]])
    if statuses is not None and result is not True:
        said.append(classes(statuses))
    left = [request for request in requests if request != MPI.REQUEST_NULL]
    for request in left:
        said.append(attempt(request.Wait))


def some_by_some(complete):
    requests = post([8, 4, 100, 2])
    for _ in range(100):
        said.append([complete.__name__, str(attempt(complete, requests))])
        if all(request == MPI.REQUEST_NULL for request in requests):
            break


def one_by_one(complete):
    for request in post([4, 8]):
        said.append([complete, attempt(getattr(request, complete))])


def with_statuses(n):
    return [MPI.Status() for _ in range(n)]


def main():
    try_out(2)
    try_out(4)
    all_at_once(MPI.Request.Waitall, with_statuses(8))
    all_at_once(MPI.Request.Waitall, None)
    all_at_once(MPI.Request.Testall, with_statuses(8))
    all_at_once(MPI.Request.Testall, None)
    some_by_some(MPI.Request.Waitsome)
    some_by_some(MPI.Request.Testsome)
    one_by_one("Wait")
    one_by_one("Test")
    requests = post([4, 8])
    for _ in range(4):
        said.append(["Waitany", attempt(MPI.Request.Waitany, requests)])
    print(json.dumps({"said": said, **done}))


if comm.rank == 0:
    main()
comm.Free()
