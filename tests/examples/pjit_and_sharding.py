"""Makes pjit_and_sharding.safetensors: the cells of examples/10_pjit_and_sharding in jax 0.10.2 on 8 CPU devices.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python pjit_and_sharding.py

It is the document with its errors corrected. Large values are cut to a few entries, as the test cuts its own.
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
N = 8
line = Mesh(np.array(jax.devices()), ("x",))
grid = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
out = {}


def normal(key, shape):
    return jax.random.normal(jax.random.PRNGKey(key), shape)


def some(x):
    """Up to four entries along each axis."""
    return x[tuple(slice(None, None, -(-n // 4)) for n in x.shape)]


def pjit(f, ins, result, mesh=line):
    named = lambda specs: jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda s: isinstance(s, P))
    return jax.jit(f, in_shardings=named(ins), out_shardings=named(result))


STRATEGIES = {"row_sharded": (P("x"), P(), P("x")), "col_sharded": (P(), P(None, "x"), P(None, "x")), "replicated": (P(), P(), P())}
out["simple"] = some(pjit(jnp.dot, (P("x"), P()), P("x"))(normal(42, (N * 4, 64)), normal(43, (64, 32))))
for name, (a, b, c) in STRATEGIES.items():
    out[name] = some(pjit(jnp.dot, (a, b), c)(normal(0, (128, 64)), normal(1, (64, 96))))
out["grid"] = some(pjit(jnp.dot, (P("data", "model"), P("model", None)), P("data", None), grid)(normal(30, (256, 256)), normal(31, (256, 128))))


def init_linear(key, i, o):
    w_key, b_key = jax.random.split(key)
    return {"w": jax.random.normal(w_key, (i, o)) * 0.1, "b": jnp.zeros(o)}


def linear(params, x):
    return jnp.dot(x, params["w"]) + params["b"]


columns, rows, whole = {"w": P(None, "x"), "b": P("x")}, {"w": P("x", None), "b": P()}, {"w": P(), "b": P()}
params = init_linear(jax.random.PRNGKey(10), 256, 512)
out["linear_w"] = some(params["w"])
out["linear"] = some(pjit(linear, (columns, P()), P(None, "x"))(params, normal(11, (32, 256))))


def mlp(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(linear(layer, x))
    return linear(params[-1], x)


sizes = [784, 512, 256, 10]
keys = jax.random.split(jax.random.PRNGKey(20), len(sizes) - 1)
layers = [init_linear(k, i, o) for k, i, o in zip(keys, sizes, sizes[1:])]
out["mlp"] = pjit(mlp, ([columns, rows, whole], P()), P("x"))(layers, normal(21, (16, 784)))


def step(params, x, y, lr):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((linear(p, x) - y) ** 2))(params)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss


train_step = pjit(step, (rows, P(), P(), P()), (rows, P()))
params, losses = {"w": normal(40, (256, 64)), "b": jnp.zeros(64)}, []
for _ in range(5):
    params, loss = train_step(params, normal(41, (32, 256)), normal(42, (32, 64)), 0.01)
    losses.append(loss)
out.update(losses=jnp.stack(losses), trained_w=some(params["w"]), trained_b=params["b"])

x = jax.device_put(normal(50, (N * 8, 64)), NamedSharding(line, P("x")))
out["row_sums"] = pjit(lambda x: jnp.sum(x, axis=1), P("x"), P("x"))(x)
by_columns = pjit(lambda x: x, P("x"), P(None, "x"))(x)
out["column_sums"] = pjit(lambda x: jnp.sum(x, axis=0), P(None, "x"), P("x"))(by_columns)

layer = pjit(jax.checkpoint(lambda w, x: jnp.dot(x, w)), (P("x", None), P()), P(None, "x"))
w, x = normal(70, (1024, 2048)), normal(71, (64, 1024))
out["large"] = some(layer(w, x))
out["large_grads"] = some(jax.grad(lambda w, x: jnp.sum(layer(w, x)))(w, x))

squares = lambda x: jnp.sum(x**2)
out["adaptive_small"] = pjit(squares, P(), P())(normal(80, (100,)))
out["adaptive_large"] = pjit(squares, P("x"), P())(normal(81, (10000,)))
stage1, stage2 = pjit(jax.nn.relu, P("x"), P("x")), pjit(lambda x: jnp.mean(x, axis=0), P("x"), P())
out["stages"] = stage2(stage1(normal(90, (N * 16, 64))))

x = normal(92, (16, 8, 32))
for w in normal(91, (N, 32, 32)) / 4:
    x = jax.nn.relu(jnp.dot(x, w))
out["pipeline"] = some(x)

for name, value in out.items():
    print(name, value.shape, float(abs(value).max()))
save(__file__, out)
