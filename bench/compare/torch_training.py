"""The steps of training of torch_rows.py: the models of rows_bench on one device, with Adam.

Parameters are trees of tensors, as the models of rows_bench have them. The eager form records the loss and lets the fused Adam of
torch.optim update the parameters where they lie; the compiled one is a function of the gradient and the update together, whose state is
written where it lies.
"""

from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

from torch_row import ROWS, channels_last, integers, kernel, normal

RATE, B1, B2, EPS = 1e-3, 0.9, 0.999, 1e-8


def adam_(p, m, v, count, g):
    """Updates one leaf in place."""
    m.lerp_(g, 1 - B1)
    v.mul_(B2).addcmul_(g, g, value=1 - B2)
    p.sub_(RATE * (m / (1 - B1**count)) / ((v / (1 - B2**count)).sqrt() + EPS))


@dataclass(frozen=True)
class Step:
    """Each step continues from the previous one; a call reads its loss."""

    loss: Callable
    params: Callable  # as rows_bench has them
    data: tuple
    lay: Callable  # of the parameters
    lay_data: Callable = lambda x, y: (x, y)
    records: bool = True

    def call(self, form):
        return self.steps(form, self.params(), *(d() for d in self.data))

    def values(self, form, args, steps):
        """The losses of that many steps from given parameters and data, as rows_bench has them."""
        call = self.steps(form, *args)
        return torch.tensor([call() for _ in range(steps)])

    def steps(self, form, params, x, y):
        params = pytree.tree_map(lambda t: t.clone().requires_grad_(form == "eager"), self.lay(params))
        return getattr(self, form)(params, *self.lay_data(x, y))

    def eager(self, params, x, y):
        adam = torch.optim.Adam(pytree.tree_leaves(params), lr=RATE, betas=(B1, B2), eps=EPS, fused=True)

        def call():
            adam.zero_grad()
            loss = self.loss(params, x, y)
            loss.backward()
            adam.step()
            return loss.item()

        return call

    def compile(self, params, x, y):
        leaves, tree = pytree.tree_flatten(params)
        moments = [[torch.zeros_like(t) for t in leaves] for _ in range(2)]
        count = torch.zeros(())

        def step(leaves, m, v, count, x, y):
            of_leaves = torch.func.grad_and_value(lambda p: self.loss(pytree.tree_unflatten(p, tree), x, y))
            g, loss = of_leaves(leaves)
            count.add_(1)
            for leaf in zip(leaves, m, v, g):
                adam_(*leaf[:3], count, leaf[3])
            return loss

        step = torch.compile(step, fullgraph=True, dynamic=False)
        return lambda: step(leaves, *moments, count, x, y).item()


def drawn(seed):
    """Draws normal arrays from one generator, one after the other."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(shape, generator=generator)


def dense(draw, n, m):
    return {"w": draw(n, m) / n**0.5, "b": torch.zeros(m)}


def apply(p, x):
    return F.linear(x, p["w"].to(x.dtype), p["b"].to(x.dtype))


def turned(p):
    """Weights as F.linear and F.conv2d have them."""
    if isinstance(p, dict):
        return {k: turned_leaf(k, v) if isinstance(v, torch.Tensor) else turned(v) for k, v in p.items()}
    return [turned(x) for x in p]


def turned_leaf(key, t):
    return kernel(t) if t.dim() == 4 else t.t().contiguous() if key == "w" else t


# --- multilayer perceptron
def mlp_params():
    draw = drawn(0)
    return [dense(draw, 784, 256), dense(draw, 256, 128), dense(draw, 128, 10)]


def mlp_loss(p, x, y):
    for layer in p[:-1]:
        x = torch.tanh(apply(layer, x))
    return F.mse_loss(apply(p[-1], x), y)


ROWS["mlp/one"] = Step(mlp_loss, mlp_params, (normal(1, 512, 784), normal(2, 512, 10)), turned)


# --- convolutional network
def cnn_params():
    draw = drawn(0)
    return {"c1": draw(3, 3, 3, 32) * 0.19, "b1": torch.zeros(32), "c2": draw(3, 3, 32, 64) * 0.06, "b2": torch.zeros(64),
            "d": dense(draw, 4096, 10)}


def cnn_loss(p, x, labels, dtype=None):
    if dtype:
        p, x = pytree.tree_map(lambda t: t.to(dtype), p), x.to(dtype)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c1"], p["b1"], padding=1)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c2"], p["b2"], padding=1)), 2)
    return F.cross_entropy(apply(p["d"], x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)).float(), labels)


def cnn_bf16_loss(p, x, labels):
    return cnn_loss(p, x, labels, torch.bfloat16)


for name, loss in (("cnn/one", cnn_loss), ("cnn_bf16/one", cnn_bf16_loss)):
    ROWS[name] = Step(loss, cnn_params, (normal(1, 128, 32, 32, 3), integers(3, 10, 128)), turned, lambda x, y: (channels_last(x), y))

# --- GPT
WIDTH, LAYERS, HEADS, SEQUENCE, VOCABULARY = 256, 4, 4, 128, 96


def norm_params():
    return {"s": torch.ones(WIDTH), "b": torch.zeros(WIDTH)}


def gpt_params():
    draw = drawn(0)
    return {
        "tokens": draw(VOCABULARY, WIDTH) * 0.06, "positions": draw(SEQUENCE, WIDTH) * 0.06, "head": dense(draw, WIDTH, VOCABULARY),
        "norm": norm_params(),
        "blocks": [{"n1": norm_params(), "n2": norm_params(), "qkv": dense(draw, WIDTH, 3 * WIDTH), "project": dense(draw, WIDTH, WIDTH),
                    "up": dense(draw, WIDTH, 4 * WIDTH), "down": dense(draw, 4 * WIDTH, WIDTH)} for _ in range(LAYERS)],
    }


def layer_norm(p, x):
    return F.layer_norm(x, (WIDTH,), p["s"].to(x.dtype), p["b"].to(x.dtype))


def attend(p, x):
    b, t, _ = x.shape
    heads = apply(p["qkv"], x).view(b, t, HEADS, 3 * WIDTH // HEADS).transpose(1, 2)
    y = F.scaled_dot_product_attention(*heads.chunk(3, -1), is_causal=True)
    return apply(p["project"], y.transpose(1, 2).reshape(b, t, WIDTH))


def gpt_loss(p, ids, labels, dtype=torch.float32):
    x = (F.embedding(ids, p["tokens"]) + p["positions"]).to(dtype)
    for block in p["blocks"]:
        x = x + attend(block, layer_norm(block["n1"], x))
        x = x + apply(block["down"], F.gelu(apply(block["up"], layer_norm(block["n2"], x)), approximate="tanh"))
    return F.cross_entropy(apply(p["head"], layer_norm(p["norm"], x)).float().flatten(0, 1), labels.flatten())


def gpt_bf16_loss(p, ids, labels):
    return gpt_loss(p, ids, labels, torch.bfloat16)


for name, loss in (("gpt/one", gpt_loss), ("gpt_bf16/one", gpt_bf16_loss)):
    ROWS[name] = Step(loss, gpt_params, (integers(1, VOCABULARY, 8, SEQUENCE), integers(2, VOCABULARY, 8, SEQUENCE)), turned)
