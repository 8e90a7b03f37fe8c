"""Makes fsdp_transformer.safetensors: the model of examples/11_fsdp_transformer in jax 0.10.2 on one device.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python fsdp_transformer.py

Weights and batches come from the keys that the test uses; Adam is written out with the library's order of operations.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, BATCH, STEPS, RATE = 64, 64, 128, 8, 2, 16, 5, 3e-3
text = (pathlib.Path(__file__).parents[2] / "data" / "psalms.txt").read_text()
letters = sorted(set(text))
ids = np.array([letters.index(c) for c in text], np.int32)


def make_gpt(key):
    keys = iter(jax.random.split(key, 3 + 4 * LAYERS))
    narrow = 0.02 / (2 * LAYERS) ** 0.5
    weight = lambda n, m, deviation=0.02: jax.random.normal(next(keys), (n, m)) * jnp.float32(deviation)
    linear = lambda n, m, deviation=0.02: {"w": weight(n, m, deviation), "b": jnp.zeros(m)}
    norm = lambda: {"s": jnp.ones(WIDTH), "b": jnp.zeros(WIDTH)}
    gpt = {"tokens": weight(VOCABULARY, WIDTH), "positions": weight(CONTEXT, WIDTH), "norm": norm(), "head": linear(WIDTH, VOCABULARY)}
    gpt["blocks"] = [
        {"norm1": norm(), "norm2": norm(), "qkv": linear(WIDTH, 3 * WIDTH), "project": linear(WIDTH, WIDTH, narrow),
         "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH, narrow)} for _ in range(LAYERS)]
    return gpt


def norm(p, x):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.mean(jnp.square(x - mean), -1, keepdims=True) + 1e-5) * p["s"] + p["b"]


def linear(p, x):
    return x @ p["w"] + p["b"]


def attend(p, x):
    b, t, _ = x.shape
    q, k, v = jnp.split(linear(p["qkv"], x).reshape(b, t, HEADS, -1), 3, 3)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9))
    return linear(p["project"], jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, WIDTH))


def loss(p, x, y):
    h = p["tokens"][x] + p["positions"]
    for block in p["blocks"]:
        h = h + attend(block, norm(block["norm1"], h))
        h = h + linear(block["down"], jax.nn.gelu(linear(block["up"], norm(block["norm2"], h))))
    scores = jax.nn.log_softmax(linear(p["head"], norm(p["norm"], h)))
    return -jnp.mean(jnp.take_along_axis(scores, y[..., None], -1))


@jax.jit
def step(p, m, v, i, x, y):
    value, g = jax.value_and_grad(loss)(p, x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    update = lambda p, m, v: p - RATE * (m / (1 - 0.9**i)) / (jnp.sqrt(v / (1 - 0.999**i)) + 1e-8)
    return jax.tree.map(update, p, m, v), m, v, value


params = make_gpt(jax.random.PRNGKey(0))
out = {"up": params["blocks"][1]["up"]["w"][::32, ::128], "project": params["blocks"][0]["project"]["w"][::32, ::32]}
m, v = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
losses, key = [], jax.random.PRNGKey(1)
for i in range(STEPS):
    at = np.array(jax.random.randint(jax.random.fold_in(key, i), (BATCH,), 0, len(ids) - CONTEXT))
    window = np.stack([ids[a : a + CONTEXT + 1] for a in at])
    if i == 0:
        out["ids"], out["labels"] = window[:2, :-1], window[:2, 1:]
    params, m, v, value = step(params, m, v, jnp.float32(i + 1), window[:, :-1], window[:, 1:])
    losses.append(value)
out["losses"] = jnp.stack(losses)
print(losses)
save(__file__, out)
