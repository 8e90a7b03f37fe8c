"""Writes loops/: functions with loops that JAX and Flax export, and for each a NAME.npz with its arguments, its results and the gradients of
their sum.

pip install "jax==VERSION" flatbuffers flax; python tests/stablehlo/exported/loops.py [NAME...]
"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders of the machine that makes them
os.makedirs(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loops"), exist_ok=True)
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loops"))
version = "_".join(jax.__version__.split(".")[:2])
lax = jax.lax


def waves(*shape, scale=0.7, by=1.0):
    """Numbers without a pattern that a loop could hide in."""
    return scale * np.sin(by * (1 + np.arange(int(np.prod(shape)), dtype=np.float64)) ** 1.3).reshape(shape)


def lstm(w, u, b, xs):
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros(u.shape[0])
    return lax.scan(step, (zero, zero), xs)


def gru_reversed(w, u, xs):
    def step(h, x):
        r, z, _ = jnp.split(x @ w + h @ u, 3)
        r, z = jax.nn.sigmoid(r), jax.nn.sigmoid(z)
        n = jnp.tanh((x @ w)[-h.size:] + r * (h @ u)[-h.size:])
        h = (1 - z) * n + z * h
        return h, (h, r.sum())
    return lax.scan(step, jnp.zeros(u.shape[0]), xs, reverse=True)


def counted(x, y):
    """A loop from 1, whose body computes with its counter and reads one row at it and one beside it."""
    return lax.fori_loop(1, x.shape[0] - 1, lambda i, c: jnp.sin(c) * i + x[i] * x[i + 1] + y, x[0])


def written(x):
    """A loop that writes rows at the counter, by a slice and by an index."""
    def body(i, both):
        a, b = both
        return lax.dynamic_update_index_in_dim(a, jnp.sin(x[i]) * x[i], i, 0), b.at[i].set(jnp.cos(x[i]) * x[x.shape[0] - 1 - i])
    return lax.fori_loop(0, x.shape[0], body, (jnp.zeros_like(x), x * 2))


def columns(x):
    """A loop that runs backwards, along another dimension."""
    def step(c, i):
        t = lax.dynamic_index_in_dim(x, x.shape[1] - 1 - i, 1, keepdims=False)
        return c * t + jnp.tanh(t), c
    return lax.scan(step, x[:, 0], jnp.arange(x.shape[1]))


def nested(x, w):
    def outer(c, row):
        c = lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w) + i * row, c)
        c, ys = lax.scan(lambda c, t: (c * t, c.sum()), c, row)
        return c, ys
    return lax.scan(outer, x[0], x)


def reads_behind(x):
    """A loop that reads the row before the last one written, from a carried buffer."""
    def body(i, y):
        return y.at[i].set(jnp.sin(y[i - 1]) + x[i] * y[i - 2])
    return lax.fori_loop(2, x.shape[0], body, x)


def gradient(x, w):
    """Loops that read, backwards, the rows that other loops have written."""
    def f(x, w):
        return jnp.sum(lax.scan(lambda c, t: (jnp.tanh(c @ w + t), c), x[0], x)[1] ** 3)
    return jax.grad(f, (0, 1))(x, w)


def checkpointed(x, w):
    step = jax.checkpoint(lambda c, t: (jnp.tanh(c @ w + t), c))
    return lax.scan(step, x[0], x)


def expm(a):
    return jax.scipy.linalg.expm(a)


FUNCTIONS = {
    "lstm": (lstm, [waves(3, 16), waves(4, 16, by=1.1), waves(16, by=1.2), waves(7, 3, by=1.3)]),
    "gru_reversed": (gru_reversed, [waves(3, 12), waves(4, 12, by=1.1), waves(6, 3, by=1.3)]),
    "counted": (counted, [waves(7, 3), waves(3, by=1.7)]),
    "written": (written, [waves(6, 2)]),
    "columns": (columns, [waves(3, 5)]),
    "nested": (nested, [waves(4, 3), waves(3, 3, by=1.1)]),
    "reads_behind": (reads_behind, [waves(8)]),
    "gradient": (gradient, [waves(6, 3), waves(3, 3, by=1.1)]),
    "checkpointed": (checkpointed, [waves(6, 3), waves(3, 3, by=1.1)]),
    "expm": (expm, [waves(4, 4, scale=3.0)]),
}
if hasattr(jax, "shard_map"):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    P = jax.sharding.PartitionSpec

    def mapped(x, w):
        """A loop on each device, whose iterations communicate."""
        def each(x, w):
            def step(c, t):
                c = jnp.tanh(c @ w + t + lax.psum(c, "x") * 0.1)
                return c, c * 2
            c, ys = lax.scan(step, x[0], x)
            return lax.psum(c, "x"), ys
        return jax.shard_map(each, mesh=mesh, in_specs=(P(None, "x"), P()), out_specs=(P(), P(None, "x")))(x, w)

    FUNCTIONS["mapped"] = (mapped, [waves(5, 8, 3), waves(3, 3, by=1.1)])
try:
    import flax.linen as nn
except ImportError:
    print("without Flax")
else:
    def model_of(module, x):
        params, tree = jax.tree.flatten(module.init(jax.random.key(0), x))
        named = [waves(*p.shape, by=1 + 0.1 * k) for k, p in enumerate(params)]
        return (lambda x, *params: module.apply(jax.tree.unflatten(tree, params), x)), [x, *named]

    class Deep(nn.Module):
        @nn.compact
        def __call__(self, x):
            block = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=4)
            return block()(x, None)[0]

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            return x + nn.tanh(nn.Dense(3, param_dtype=jnp.float64)(x)), None

    kinds = {"param_dtype": jnp.float64, "dtype": jnp.float64}
    FUNCTIONS["flax_lstm"] = model_of(nn.RNN(nn.OptimizedLSTMCell(4, **kinds)), waves(2, 5, 3))
    FUNCTIONS["flax_gru"] = model_of(nn.RNN(nn.GRUCell(4, **kinds), reverse=True, keep_order=True), waves(2, 5, 3))
    FUNCTIONS["flax_scan"] = model_of(Deep(), waves(2, 3))

for name, (f, arguments) in FUNCTIONS.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    arguments = [jnp.asarray(a) for a in arguments]
    exported = export.export(jax.jit(f))(*arguments)
    with open(f"{name}_{version}.jaxexport", "wb") as out:
        out.write(exported.serialize())
    results = jax.tree.leaves(f(*arguments))
    gradients = jax.grad(lambda *a: sum(jnp.sum(y) for y in jax.tree.leaves(f(*a))), tuple(range(len(arguments))))(*arguments)
    kinds_of = {"argument": arguments, "result": results, "gradient": gradients}
    np.savez(name + ".npz", **{f"{kind}{i}": np.asarray(a) for kind, all_of in kinds_of.items() for i, a in enumerate(all_of)})
