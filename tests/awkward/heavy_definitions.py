# SPDX-License-Identifier: BSD-3-Clause
"""dataclasses, enum, typing, named tuples, abstract classes, descriptors, metaclasses: code that makes code."""

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import inspect
import typing


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = dataclasses.field(default=0, compare=False)
    z: typing.List[int] = dataclasses.field(default_factory=list, repr=False, compare=False)


class Colour(enum.Enum):
    RED = 1
    GREEN = enum.auto()

    @classmethod
    def _missing_(cls, value):
        return cls.RED


class Flags(enum.IntFlag):
    A = 1
    B = 2


Pair = collections.namedtuple("Pair", "a b")


class Typed(typing.NamedTuple):
    a: int
    b: str = "x"


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init_subclass__(cls, **kwargs):
        print("subclass", cls.__name__, kwargs)


class Small(Box[int], size=1):
    pass


class Meta(type):
    def __prepare__(name, bases):
        return {"prepared": True}

    def __call__(cls, *args):
        print("called", cls.__name__)
        return super().__call__(*args)

    def __instancecheck__(cls, instance):
        return True


class WithMeta(metaclass=Meta):
    pass


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Descriptor:
    def __set_name__(self, owner, name):
        print("named", name)

    def __get__(self, instance, owner):
        return inspect.stack()[1].function


class Has:
    d = Descriptor()

    @functools.cached_property
    def cached(self):
        print("computed")
        return 1

    @functools.singledispatchmethod
    def dispatch(self, x):
        return "object"

    @dispatch.register
    def _(self, x: int):
        return "int"


print(Point(1, 2), Point(1) < Point(2), hash(Point(1)) == hash(Point(1, 5)), dataclasses.asdict(Point(3)))
try:
    Point(1).x = 2
except dataclasses.FrozenInstanceError as error:
    print(error)
print(Colour(7), list(Colour), Flags.A | Flags.B, Flags(3) & ~Flags.A)
print(Pair(1, 2)._replace(a=3), Typed(1), typing.get_type_hints(Typed))
print(WithMeta().prepared, isinstance(3, WithMeta))
try:
    Abstract()
except TypeError as error:
    print(error)
has = Has()
print(has.d, has.cached, has.cached, has.dispatch(1), has.dispatch(""))
print(inspect.signature(Point), inspect.getsource(Meta).count("\n"))


@contextlib.contextmanager
def managed():
    try:
        yield 1
    except ValueError as error:
        print("swallowed", error)


with managed():
    raise ValueError("inside")
with contextlib.ExitStack() as stack:
    for i in range(3):
        stack.callback(print, "callback", i)
