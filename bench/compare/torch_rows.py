"""The rows of rows_bench in PyTorch, on one device, under the same names; requests as serving.py has them.

    python torch_rows.py --serve

A row has two forms, named behind it: ROW@eager, operations as they are called, and ROW@compile, all of the row in one function of
torch.compile. Both are in the form that PyTorch is fastest in: without recording where nobody asks for a gradient, images and kernels
channels last, states of training updated where they lie, as Tessera's row donates them. Arguments are laid out so before the clock
starts. PyTorch uses as many threads as there are cores.
"""

import gc

import torch
import torch.nn.functional as F
from torch import fft, linalg
from torch._higher_order_ops.scan import scan

import serving
from torch_row import ROWS, Row, channels_last, gradient, integers, kernel, normal, row


# --- dispatch
def plus_one(x):
    return x + 1


row("jit_scalar", plus_one, lambda: torch.zeros(()))
row("jit_tree_100", lambda *t: torch._foreach_add(t, 1), *[lambda: torch.zeros(())] * 100, compiled=lambda *t: [x + 1 for x in t])
row("eager_add", lambda x: x + x, lambda: torch.zeros(4))
row("eager_update", lambda w, g: w - 0.1 * (g + 0.01 * w), lambda: torch.ones(8), lambda: torch.ones(8))
gradient("grad_eager", lambda x: (torch.sin(x) * x).sum(), lambda: torch.ones(8))

# --- array programs
LARGE = 16 * 1024 * 1024


def energy(x):
    return (x * x + torch.sin(x) * torch.cos(x)).sum(-1)


class OneByOne(Row):
    """Applies the function to each argument, one call after the other."""

    def call(self, form):
        f, args = self.function(form), [d() for d in self.data]
        return lambda: [f(x) for x in args]


for n in (1000, 10000, 100000, 1000000):
    row(f"pmap_energy/{n}", energy, normal(0, 4, n))  # the arrays of four devices, in one call
    for side in ("jit", "eager"):
        ROWS[f"{side}_energy/{n}"] = OneByOne(energy, tuple(normal(i, n) for i in range(4)))
row("multiply_add", lambda v, w: torch.add(w, v, alpha=3), normal(0, LARGE), normal(1, LARGE))
row("chain", lambda v: torch.log1p(torch.exp(torch.tanh(v))), normal(0, LARGE))
row("sum", torch.sum, normal(0, LARGE))
row("softmax", lambda x: torch.softmax(x, 1), normal(0, 4096, 4096))
row("transpose", lambda x: x.t().contiguous(), normal(0, 4096, 4096))
row("normals", lambda: torch.randn(4 * 1024 * 1024))
for n in (256, 512, 1024, 2048):
    row(f"matmul/{n}", torch.mm, normal(0, n, n), normal(1, n, n))


# --- a recurrent network: a loop of operations, and the compiler's scan
def recurrent(w, xs):
    h, turned = torch.zeros(64), w.t().contiguous()
    for x in xs.unbind():
        h = torch.tanh(torch.addmv(x, turned, h))
    return h


def scanned(w, xs):
    def turn(h, x):
        h = torch.tanh(h @ w + x)
        return h, h.clone()

    return scan(turn, torch.zeros(64), xs)[0]


def weight():
    return normal(0, 64, 64)() * 0.1


row("rnn", recurrent, weight, normal(1, 1000, 64), compiled=scanned)
gradient("rnn_grad", lambda w, xs: recurrent(w, xs).sum(), weight, normal(1, 1000, 64))  # not compiled: scan refuses it

# --- functions of 2 M elements
MANY = 2 * 1024 * 1024


def unit():
    return torch.empty(MANY).uniform_(0.05, 0.95, generator=torch.Generator().manual_seed(0))


def op(name, f, *data, **more):
    row("op/" + name, f, *data, **more)


for name in "exp expm1 log log1p sin cos tan arcsin arctan sinh cosh tanh arcsinh arctanh erf erfc sqrt".split():
    op(name, getattr(torch, name), unit)
op("arctan2", lambda x: torch.arctan2(x, 1 - x), unit)
op("pow", lambda x: torch.pow(x, 1.7), unit)
op("silu", F.silu, unit)
op("softplus", F.softplus, unit)
op("gelu", lambda x: F.gelu(x, approximate="tanh"), unit)
op("gelu_exact", F.gelu, unit)
op("uniform", lambda: torch.rand(MANY))

# --- operations alone
matrix, other, vector, picked = normal(0, 2048, 1024), normal(8, 2048, 1024), normal(1, MANY), integers(2, 2048, 4096)
images = normal(1, 32, 56, 56, 64)

op("sum_rows", lambda x: x.sum(1), matrix)
op("sum_columns", lambda x: x.sum(0), matrix)
op("max_rows", lambda x: x.amax(1), matrix)
op("max_columns", lambda x: x.amax(0), matrix)
op("argmax", torch.argmax, vector)
op("argmax_rows", lambda x: x.argmax(1), matrix)
op("std_rows", lambda x: linalg.vector_norm(x - x.mean(1, keepdim=True), dim=1) / 32, matrix,  # std itself takes six times as long
   compiled=lambda x: x.std(1, correction=0))
op("norm", linalg.vector_norm, vector)
op("logsumexp_rows", lambda x: x.logsumexp(1), matrix)
op("cumsum_rows", lambda x: x.cumsum(1), matrix)
op("cumsum_columns", lambda x: x.cumsum(0), matrix)
op("sort_rows", lambda x: x.sort(1)[0], matrix)
op("argsort_rows", lambda x: x.argsort(dim=1, stable=True), matrix)

op("transpose", lambda x: x.t().contiguous(), matrix)
op("nhwc_to_nchw", lambda x: x.permute(0, 3, 1, 2).contiguous(), images)
op("concatenate", lambda x: torch.cat([x, x], 1), matrix)
op("pad", lambda x: F.pad(x, (0, 0, 1, 1, 1, 1)), images)
op("flip", lambda x: x.flip(1), matrix)
op("roll", lambda x: x.roll(3, 1), matrix)
op("where", lambda x, y: torch.where(x > 0, x, y), matrix, other)
op("take_rows", lambda x, i: x.index_select(0, i), matrix, picked)
gradient("op/take_rows_gradient", lambda x, i, g: (x.index_select(0, i) * g).sum(), matrix, picked, normal(4, 4096, 1024))
op("add_at", lambda x, i, v: x.scatter_add(0, i, v), vector, integers(6, MANY, 1 << 18), normal(7, 1 << 18))
op("add_rows_at", lambda x, i, v: x.index_add(0, i, v), matrix, picked, normal(8, 4096, 1024))

op("matrix_vector", torch.mv, matrix, normal(2, 1024))
op("vector_matrix", lambda x, y: torch.mv(x.t(), y), matrix, normal(3, 2048))
op("few_columns", torch.mm, matrix, normal(4, 1024, 16))
op("many_small", torch.bmm, normal(5, 256, 64, 64), normal(6, 256, 64, 64))
op("attention_scores", lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k), normal(7, 8, 128, 4, 64), normal(8, 8, 128, 4, 64))
op("product_bfloat16", lambda x: x @ x, lambda: normal(1, 512, 512)().bfloat16())
op("product_int32", lambda x: x @ x, lambda: integers(9, 100, 256, 256)().int())


def back(y):
    return y.permute(0, 2, 3, 1)


def of_images(name, f, *data, **more):
    op(name, f, *data, lay=lambda x, *w: (channels_last(x), *map(kernel, w)), unlay=back, **more)


of_images("conv_3x3", lambda x, w: F.conv2d(x, w, padding=1), images, normal(3, 3, 3, 64, 64))
of_images("conv_1x1", F.conv2d, images, normal(4, 1, 1, 64, 128))
of_images("conv_depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=64), images, normal(6, 3, 3, 1, 64))
of_images("conv_one_image", lambda x, w: F.conv2d(x, w, padding=1), normal(7, 1, 56, 56, 64), normal(3, 3, 3, 64, 64))
# "SAME" pads what a stride of two needs at the far end, conv2d at both: of images and kernels that are turned round it is the same function.
op("conv_3x3_strided", lambda x, w: F.conv2d(x, w, stride=2, padding=1), images, normal(5, 3, 3, 64, 64),
   lay=lambda x, w: (channels_last(x.flip(1, 2)), kernel(w.flip(0, 1))), unlay=lambda y: back(y).flip(1, 2))
of_images("max_pool", lambda x: F.max_pool2d(x, 2), images)
of_images("batch_norm", lambda x: F.batch_norm(x, None, None, training=True, eps=1e-5), images)


def pooled(x):
    return F.max_pool2d(channels_last(x), 2).square().sum()


gradient("op/max_pool_gradient", pooled, images)
gradient("op/layer_norm_gradient", lambda x, g: (F.layer_norm(x, (1024,)) * g).sum(), matrix, other)
gradient("op/softmax_gradient", lambda x, g: (torch.softmax(x, 1) * g).sum(), matrix, other)
op("cross_entropy", F.cross_entropy, matrix, integers(2, 1024, 2048))
gradient("op/cross_entropy_gradient", F.cross_entropy, matrix, integers(2, 1024, 2048))
gradient("op/gradients_of_examples", lambda x, w: torch.tanh(x @ w.t()).sum(), normal(9, 512, 64), normal(10, 64, 64))


def scan_elementwise(x):
    h, states = torch.zeros(1024), torch.empty_like(x)
    for r, state in zip(x.unbind(), states.unbind()):
        h = torch.tanh(torch.add(r, h, alpha=0.9), out=state)
    return states


def scanned_elementwise(x):
    def turn(h, r):
        h = torch.tanh(h * 0.9 + r)
        return h, h.clone()

    return scan(turn, torch.zeros(1024), x)[1]


op("scan_elementwise", scan_elementwise, matrix, compiled=scanned_elementwise)
op("categorical", lambda x: torch.multinomial(torch.softmax(x, 1), 1), matrix)


def waves(*shape):
    return lambda: torch.complex(normal(11, *shape)(), normal(12, *shape)())


square = normal(13, 1000, 1000)
op("fft_line", fft.fft, waves(1 << 20))
op("fft_rows", fft.fft, waves(1024, 1024))
op("solve", linalg.solve, square, normal(14, 1000))
op("cholesky", linalg.cholesky, lambda: square() @ square().t() + 1000 * torch.eye(1000))


def find(name):
    if name not in ROWS:
        import torch_training  # noqa: F401  registers steps of training, which need the compiler's parts
    return ROWS[name]


def make(name):
    program, _, form = name.partition("@")
    return find(program).call(form)


def around(name):
    return torch.enable_grad() if find(name.partition("@")[0]).records else torch.inference_mode()


def forget():
    torch.compiler.reset()
    gc.collect()


if __name__ == "__main__":
    serving.main(make, around, forget)
