# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT attributes
# run: SCRIPT monitoring
# run: SCRIPT text
# run: SCRIPT modules
"""Objects that say so when they are asked for something: a name, a text, an attribute. The program asks for none."""

import codecs
import sys
import threading


def say(*words):
    sys.__stdout__.write(" ".join(map(str, words)) + "\n")


class Named(threading.Thread):
    """Without a name, as far as anybody can tell who does not ask."""

    @property
    def _name(self):
        say("the name of a thread")
        return "named"

    @_name.setter
    def _name(self, name):
        pass

    def run(self):
        work()


class Shown:
    def __get__(self, instance, owner=None):
        say("asked for")
        return list.append.__get__(instance)

    def __repr__(self):
        say("shown")
        return "<method of nothing>"


class Hidden(list):
    append = Shown()
    extend = property(lambda self: say("asked for"))


def work():
    made = Hidden()
    add, add_all = super(Hidden, made).append, super(Hidden, made).extend
    for i in range(100):
        add(i)
        add_all((i,))
    return len(made)


def attributes():
    say(work())
    thread = Named()
    thread.start()
    thread.join()
    say(work())


def replaced(name):
    own = getattr(sys.monitoring, name)

    def spoken(*args):
        say("called", name)
        return own(*args)

    setattr(sys.monitoring, name, spoken)


def monitoring():
    if hasattr(sys, "monitoring"):
        for name in ("get_tool", "set_events", "register_callback", "restart_events", "free_tool_id", "use_tool_id"):
            replaced(name)
    events = ("sys.monitoring.register_callback", "sys.setprofile", "sys.settrace", "object.__getattr__", "code.__new__")
    sys.addaudithook(lambda event, args: event in events and say("event", event))
    say(sum(work() for _ in range(300)))  # longer than any window of ours


def text():
    codecs.register_error("surrogateescape", lambda error: say("asked for", error) or ("?", error.end))
    codecs.register_error("strict", lambda error: say("asked for", error) or ("?", error.end))
    names = {}
    code = compile("def made(): return 1\nmade()", "a file \ud800 of \udc80 no name", "exec")
    exec(code, names)
    exec(code.replace(co_name="\ud900"), names)
    other = threading.Thread(target=work, name="\ud800 \udcff \N{SNOWMAN}" * 3)
    size = sys.getsizeof(other.name)
    other.start()
    other.join()
    say(sys.getsizeof(other.name) == size, sys.getsizeof(code.co_filename))


class Module:
    def __getattribute__(self, name):
        say("asked for", name)
        return super().__getattribute__(name)


class Text(str):
    def __str__(self):
        say("text")
        return "1"

    def encode(self, *args):
        say("encoded")
        return b"1"


def modules():
    sys.modules["numpy"] = Module()
    sys.modules["h5py"] = module = type(sys)("h5py")
    module.__getattr__ = lambda name: say("asked for", name)
    sys.modules["mpi4py"] = module = type(sys)("mpi4py")
    module.__version__ = Text("1.0")
    say(work())


globals()[sys.argv[1]]()
