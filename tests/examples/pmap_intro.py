"""Makes pmap_intro.safetensors: the cells of examples/02_pmap_intro in jax 0.10.2 on 4 CPU devices.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python pmap_intro.py
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
out = {}

x = jnp.arange(8.0).reshape(4, 2)
out["squares"] = jax.pmap(jnp.square)(x)
out["sum_over_default_axis"] = jax.pmap(lambda r: lax.psum(jnp.sum(r), "i"), axis_name="i")(x)
rows = jnp.arange(12.0).reshape(4, 3)
w, b = jnp.array([1.0, 0.5, -1.0]), jnp.float32(10)
out["shared_parameters"] = jax.pmap(lambda p, r: jnp.dot(r, p[0]) + p[1], in_axes=(None, 0))((w, b), rows)
out["mixed_axes"] = jax.pmap(lambda a, b, c: a * b + c, in_axes=(0, None, 0))(x, jnp.array([1.0, -1.0]), jnp.arange(4.0) * 100)
own = lambda r: jnp.sum(r)
out["own"] = jax.pmap(own)(x)
for name, f in {"psum": lax.psum, "pmean": lax.pmean, "pmax": lax.pmax}.items():
    out[name] = jax.pmap(lambda r: f(own(r), "devices"), axis_name="devices")(x)


def init_mlp(key, sizes, dtype="float32"):
    keys = jax.random.split(key, len(sizes) - 1)
    return [{"w": jax.random.normal(k, (i, o), dtype) / np.float32(np.sqrt(i)), "b": jnp.zeros(o, dtype)} for k, i, o in zip(keys, sizes, sizes[1:])]


def mlp(layers, x):
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def mse(layers, x, y):
    return jnp.mean(jnp.square(mlp(layers, x) - y))


def adam(params, m, v, t, grads, rate=1e-2, b1=0.9, b2=0.999, eps=1e-8):
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    t = t + 1
    step = lambda p, m, v: p - rate * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + eps)
    return jax.tree.map(step, params, m, v), m, v, t


def train(key, x, y, devices, steps):
    def step(state, x, y):
        params, m, v, t = state
        loss, grads = jax.value_and_grad(mse)(params, x, y)
        grads = lax.pmean(grads, "devices")
        return adam(params, m, v, t, grads), lax.pmean(loss, "devices")

    params = init_mlp(key, [1, 16, 16, 1])
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.float32(0))
    state = jax.tree.map(lambda leaf: jnp.stack([leaf] * devices), state)
    xs, ys = x.reshape(devices, -1, 1), y.reshape(devices, -1, 1)
    pmapped = jax.pmap(step, axis_name="devices")
    losses = []
    for _ in range(steps):
        state, loss = pmapped(state, xs, ys)
        losses.append(loss[0])
    return jax.tree.map(lambda leaf: leaf[0], state), losses


def make_data(key, n):
    x_key, noise_key = jax.random.split(key)
    x = jax.random.uniform(x_key, (n, 1), minval=-1.0, maxval=1.0)
    return x, jnp.sin(3 * x) + 0.05 * jax.random.normal(noise_key, (n, 1))


x, y = make_data(jax.random.PRNGKey(0), 256)
out["x_head"], out["y_head"] = x[:8], y[:8]
state, losses = train(jax.random.PRNGKey(42), x, y, 4, 200)
out["losses"] = jnp.stack(losses)
out["predictions"] = mlp(state[0], jnp.linspace(-1, 1, 21).reshape(21, 1))
# The same steps in float64, from the same float32 parameters and data. In float32 1 - b2**t keeps
# three digits of the first steps' corrections.
with jax.enable_x64(True):
    double = lambda tree: jax.tree.map(lambda leaf: leaf.astype("float64"), tree)
    layers = double(init_mlp(jax.random.PRNGKey(42), [1, 16, 16, 1]))
    zeros = jax.tree.map(jnp.zeros_like, layers)
    state, exact = (layers, zeros, zeros, jnp.float64(0)), []
    for _ in range(200):
        loss, grads = jax.value_and_grad(mse)(state[0], double(x), double(y))
        state = adam(*state, grads)
        exact.append(loss)
    out["exact_losses"] = jnp.stack(exact).astype("float32")
    print(abs(out["losses"] - jnp.stack(exact)).max())
save(__file__, out)
print(losses[0], losses[-1])
