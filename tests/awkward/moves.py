# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT changed
# run: SCRIPT removed => 0, perhaps a complaint
# run: SCRIPT unreadable
# run: SCRIPT removed_before_start
# run: SCRIPT deleted_script
"""The current directory changes, goes away, or can no longer be read; the script deletes itself."""

import os
import sys
import tempfile


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def changed():
    os.chdir("/")
    print(os.getcwd(), work(10))


def removed():
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    os.rmdir(directory)
    try:
        os.getcwd()
    except FileNotFoundError as error:
        print(error)
    print(work(10))


def unreadable():
    os.mkdir("closed", 0o000)
    os.chdir("closed")
    print(work(10))


def removed_before_start():
    import subprocess

    directory = tempfile.mkdtemp()
    script = os.path.abspath(sys.argv[0])
    # As a shell does that stands in a directory which another one has removed.
    done = subprocess.run(
        ["sh", "-c", f'cd {directory} && rmdir {directory} && exec "$0" "$@"', sys.executable, script, "changed"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout, done.stderr, done.returncode)


def deleted_script():
    os.unlink(sys.argv[0])
    try:
        1 / 0
    except ZeroDivisionError:
        import traceback

        traceback.print_exc()


globals()[sys.argv[1]]()
