"""The rows of dispatch_bench, seeds_bench and training_bench in JAX.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python jax_rows.py [part of a row's name]

Prints one line a row: name and the median microseconds of a call, its result waited for.
"""

import statistics
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax

WANTED = sys.argv[1] if len(sys.argv) > 1 else ""


def report(name, seconds):
    print(f"{name:28s} {seconds * 1e6:14.2f} us", flush=True)


def row(name, make, budget=0.5):
    """Times calls of what make() gives; batches of calls, so that the clock does not count."""
    if WANTED not in name:
        return
    call = make()
    jax.block_until_ready(call())
    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    once = max(time.perf_counter() - start, 1e-7)
    batch = max(1, int(budget / 10 / once))
    times = []
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(batch):
            jax.block_until_ready(call())
        times.append((time.perf_counter() - start) / batch)
    report(name, statistics.median(times))


def normal(seed, shape):
    return jax.block_until_ready(jax.random.normal(jax.random.key(seed), shape))


# --- dispatch
def bound(f, *args):
    return lambda: f(*args)


def chained():
    f = jax.pmap(lambda x: x + 1)
    box = [f(jnp.zeros((4, 8)))]

    def call():
        box[0] = f(box[0])
        return box[0]

    return call


row("jit_scalar", lambda: bound(jax.jit(lambda x: x + 1), jnp.zeros(())))
row("jit_tree_of_100", lambda: bound(jax.jit(lambda t: [x + 1 for x in t]), [jnp.zeros(()) for _ in range(100)]))
row("eager_add", lambda: bound(lambda x: x + x, jnp.zeros(4)))
row("pmap_plus_one", lambda: bound(jax.pmap(lambda x: x + 1), jnp.zeros((4, 8))))
row("pmap_psum", lambda: bound(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i"), jnp.zeros((4, 8))))
row("pmap_chained", chained)
row("grad_traced_eagerly", lambda: bound(jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), jnp.ones(8)))


# --- seeds
def energy(x):
    return jnp.sum(x * x + jnp.sin(x) * jnp.cos(x))


def sequential(n):
    f = jax.jit(energy)
    rows = [normal(i, (n,)) for i in range(4)]
    return lambda: [f(r) for r in rows]


def eager(n):
    rows = [normal(i, (n,)) for i in range(4)]
    return lambda: [energy(r) for r in rows]


for n in (1000, 10000, 100000, 1000000):
    row(f"eager_sum/{n}", lambda: eager(n))
    row(f"pmapped_sum/{n}", lambda: bound(jax.pmap(energy), jax.pmap(lambda r: r)(normal(0, (4, n)))))
    row(f"sequential_sum/{n}", lambda: sequential(n))

LARGE = 16 * 1024 * 1024
row("multiply_add", lambda: bound(jax.jit(lambda v: v * 3 + 1), normal(0, (LARGE,))))
row("triad", lambda: bound(jax.jit(lambda v, w: v * 3 + w), normal(0, (LARGE,)), normal(1, (LARGE,))))
row("transcendental_chain", lambda: bound(jax.jit(lambda v: jnp.tanh(jnp.exp(jnp.log1p(jnp.abs(v))))), normal(0, (LARGE,))))
row("sum_large", lambda: bound(jax.jit(jnp.sum), normal(0, (LARGE,))))
row("softmax_rows", lambda: bound(jax.jit(jax.nn.softmax), normal(0, (4096, 1024))))
row("transpose", lambda: bound(jax.jit(jnp.transpose), normal(0, (4096, 4096))))
row("normals", lambda: bound(jax.jit(lambda k: jax.random.normal(k, (4 * 1024 * 1024,))), jax.random.key(0)))
for n in (256, 512, 1024, 2048):
    row(f"matmul/{n}", lambda: bound(jax.jit(jnp.dot), normal(0, (n, n)), normal(1, (n, n))))


# --- training
def adam_init(p):
    return (jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p))


def adam(p, g, state, rate=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    count, m, v = state
    count = count + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, g)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, g)
    c1, c2 = 1 - b1**count, 1 - b2**count
    p = jax.tree.map(lambda p, m, v: p - rate * (m / c1) / (jnp.sqrt(v / c2) + eps), p, m, v)
    return p, (count, m, v)


def dense(key, n, m):
    return {"w": jax.random.normal(key, (n, m)) / n**0.5, "b": jnp.zeros(m)}


def mlp_params():
    a, b, c = jax.random.split(jax.random.key(0), 3)
    return [dense(a, 784, 256), dense(b, 256, 128), dense(c, 128, 10)]


def mlp_loss(p, x, y):
    for layer in p[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean(jnp.square(x @ p[-1]["w"] + p[-1]["b"] - y))


def cnn_params():
    a, b, c = jax.random.split(jax.random.key(0), 3)
    return {
        "c1": jax.random.normal(a, (3, 3, 3, 32)) * 0.19, "b1": jnp.zeros(32),
        "c2": jax.random.normal(b, (3, 3, 32, 64)) * 0.06, "b2": jnp.zeros(64),
        "d": dense(c, 4096, 10),
    }


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn_loss(p, x, labels, dtype=jnp.float32):
    p = jax.tree.map(lambda a: a.astype(dtype), p)
    x = x.astype(dtype)
    x = pool(jax.nn.relu(conv(x, p["c1"]) + p["b1"]))
    x = pool(jax.nn.relu(conv(x, p["c2"]) + p["b2"]))
    logits = (x.reshape(x.shape[0], -1) @ p["d"]["w"] + p["d"]["b"]).astype(jnp.float32)
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], 1))


def step_of(loss, axis=None):
    def step(p, state, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        if axis:
            value, g = lax.pmean((value, g), axis)
        p, state = adam(p, g, state)
        return p, state, value

    return step


def training(loss, params, x, y, devices=0):
    p = params()
    state = adam_init(p)
    if devices:
        step = jax.pmap(step_of(loss, "i"), axis_name="i")
        p, state = jax.tree.map(lambda a: jnp.broadcast_to(a, (devices,) + a.shape), (p, state))
    else:
        step = jax.jit(step_of(loss))
    box = [p, state]

    def call():
        box[0], box[1], value = step(box[0], box[1], x, y)
        return value

    return call


def first_call(name, loss, params, x, y):
    if WANTED not in name:
        return
    p = params()
    state = adam_init(p)
    jax.block_until_ready((p, state, x, y))
    start = time.perf_counter()
    jax.block_until_ready(jax.jit(step_of(loss))(p, state, x, y))
    report(name, time.perf_counter() - start)


def labels(shape):
    return jax.random.randint(jax.random.key(3), shape, 0, 10)


if WANTED in "mlp_compile":
    first_call("mlp_compile", mlp_loss, mlp_params, normal(1, (512, 784)), normal(2, (512, 10)))
if WANTED in "cnn_compile":
    first_call("cnn_compile", cnn_loss, cnn_params, normal(1, (128, 32, 32, 3)), labels((128,)))
row("mlp_one", lambda: training(mlp_loss, mlp_params, normal(1, (512, 784)), normal(2, (512, 10))), 1)
row("cnn_one", lambda: training(cnn_loss, cnn_params, normal(1, (128, 32, 32, 3)), labels((128,))), 2)
row("cnn_bf16", lambda: training(lambda p, x, y: cnn_loss(p, x, y, jnp.bfloat16), cnn_params,
                                 normal(1, (128, 32, 32, 3)), labels((128,))), 2)
for n in (4, 8, 96):
    if jax.device_count() < n:
        continue
    each = 1 if n == 96 else 128 // n
    if n < 96:
        row(f"mlp_pmap/{n}", lambda: training(mlp_loss, mlp_params, normal(1, (n, 512 // n, 784)), normal(2, (n, 512 // n, 10)), n), 1)
    row(f"cnn_pmap/{n}", lambda: training(cnn_loss, cnn_params, normal(1, (n, each, 32, 32, 3)), labels((n, each)), n), 2)


def psum_chain():
    def f(x):
        for i in range(100):
            x = lax.psum(x, "i") * 0.25 + float(i)
        return x

    return bound(jax.pmap(f, axis_name="i"), normal(0, (4, 1000)))


row("psum_chain", psum_chain)
