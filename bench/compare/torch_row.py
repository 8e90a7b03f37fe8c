"""How a row of rows_bench is made in PyTorch: its function, its data, and the layout that they are in."""

from dataclasses import dataclass
from typing import Callable

import torch

ROWS = {}


@dataclass(frozen=True)
class Row:
    """`data` are functions that make the arguments as rows_bench has them; `lay` puts them where PyTorch wants them, `unlay` the result
    back where rows_bench has it. `compiled` is what the compiler gets where that is not `f`."""

    f: Callable
    data: tuple
    lay: Callable = lambda *args: args
    unlay: Callable = lambda y: y
    compiled: Callable = None
    records: bool = False  # whether operations of the first argument are recorded for its gradient

    def function(self, form):
        return torch.compile(self.compiled or self.f, fullgraph=True, dynamic=False) if form == "compile" else self.f

    def laid(self, form, args):
        args = self.lay(*args)
        if self.records:  # the compiler transforms the function, and has nothing to record
            args[0].requires_grad_(form == "eager")
        return args

    def call(self, form):
        f, args = self.function(form), self.laid(form, [d() for d in self.data])
        return lambda: f(*args)

    def values(self, form, args, _):
        """The result for given arguments, both laid out as in rows_bench."""
        y = self.unlay(self.function(form)(*self.laid(form, args)))
        return y.float() if y.dtype == torch.bfloat16 else y


def row(name, f, *data, **more):
    ROWS[name] = Row(f, data, **more)


def gradient(name, loss, *data):
    """A row of the gradient by the first argument. The eager form records operations, the compiled one transforms the function."""

    def recorded(x, *rest):
        return torch.autograd.grad(loss(x, *rest), x)[0]

    row(name, recorded, *data, compiled=torch.func.grad(loss), records=True)


def normal(seed, *shape):
    return lambda: torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def integers(seed, below, *shape):
    return lambda: torch.randint(below, shape, generator=torch.Generator().manual_seed(seed))


def channels_last(x):
    """(N, H, W, C) as (N, C, H, W) over the same memory."""
    return x.permute(0, 3, 1, 2)


def kernel(w):
    """(H, W, in, out) as (out, in, H, W), channels last."""
    return w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
