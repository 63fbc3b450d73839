"""A list of guards, checked by the native program and by their Python meaning at once."""

from dynamo.guard_program import GuardCompiler
from dynamo.source import Local, Scope

X, Y = Local("x"), Local("y")


def make(free):
    def f(x, y, *rest, key=None, **more):
        return free

    return f


F = make([1, 2])


class Program:
    """A compiled list of guards, checked natively and in Python at once."""

    def __init__(self, *guards, function=F):
        self.guards = list(guards)
        self.function = function
        self.native = GuardCompiler(function.__code__, self.guards).compile()

    def __call__(self, x=None, y=None, rest=(), key=None, more=None):
        args = (x, y, key, rest, more or {})
        locals = dict(zip(("x", "y", "key", "rest", "more"), args))
        scope = Scope.of_function(self.function, locals)
        failing = [i for i, g in enumerate(self.guards) if not g.holds(scope)]
        found = self.native.check(self.function, args)
        again = self.native.check(self.function, args)  # from the memo, if there is one
        assert found == again
        if not failing:
            assert found is True
        else:
            assert found is not True and found in failing
            for i in failing:
                assert isinstance(self.guards[i].why_failed(scope), str)
        return found is True
