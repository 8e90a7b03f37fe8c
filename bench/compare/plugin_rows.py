"""The rows of plugin.py: programs of JAX that run on Tessera's plug-in and on jaxlib's CPU client, both in this process.

A row is named ROW@PLATFORM, of the platforms `tessera` and `cpu`; requests are as serving.py has them. `--compile ROW` measures what is
left of a first call when JAX has traced and lowered the program: compiling it and one step.
"""

import contextlib
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax

import jax_arrays  # noqa: F401  registers its rows, as the next ones do
import jax_collectives  # noqa: F401
import jax_flax  # noqa: F401
import jax_row
import jax_training
import serving
from jax_ops import MANY, convolved, images, integers, matrix, op, other, picked, square, unit, vector
from jax_row import ROWS, bound, bound_tree, normal, on, placed, row


# --- calls
def donated_tree(tree, **options):
    f = jax.jit(lambda t: [x + 1 for x in t], donate_argnums=0, **options)
    box = [jax.block_until_ready(tree)]

    def call():
        box[0] = jax.block_until_ready(f(box[0]))

    return call


def tree(devices=0):
    arrays = [jnp.ones((devices or 1, 4)) * i for i in range(100)]
    return jax.device_put(arrays, placed(devices, jax_row.SPLIT)) if devices else arrays


row("eager_add_one")(lambda: bound(lambda x: x + 1, jnp.zeros(4)))
row("eager_sin")(lambda: bound(jnp.sin, jnp.zeros(4)))
row("eager_mean")(lambda: bound(lambda x: x.mean(0), jnp.zeros((4, 4))))
row("jit_of_numpy")(lambda: bound(jax.jit(lambda x: x + 1), jax.device_get(jnp.zeros(1000))))
row("jit_tree_100_donated")(lambda: donated_tree(tree()))
for devices in (4, 8):
    row(f"jit_tree_100/{devices}")(lambda n=devices: bound_tree(jax.jit(lambda t: [x + 1 for x in t]), tree(n)))
    row(f"jit_tree_100_donated/{devices}")(lambda n=devices: donated_tree(tree(n)))
row("device_put")(lambda: bound(jax.device_put, jax.device_get(vector())))
row("device_get")(lambda: lambda x=vector(): jax.device_get(x + 1))


# --- operations
def many(seed):
    return lambda: normal(seed, (MANY,))


def regular(n, kind=lambda x: x):
    return lambda: kind(normal(13, (n, n)))


def spd(x):
    return x @ x.T + len(x) * jnp.eye(len(x))


op("add", jnp.add, many(0), many(1))
op("multiply", jnp.multiply, many(0), many(1))
op("divide", jnp.divide, many(0), unit)
op("log_sigmoid", jax.nn.log_sigmoid, many(0))
op("digamma", jax.scipy.special.digamma, unit)
op("lgamma", jax.scipy.special.gammaln, unit)
op("floor_divide", jnp.floor_divide, many(0), unit)
op("remainder", jnp.remainder, lambda: integers(0, (MANY,), 1 << 20), lambda: 1 + integers(1, (MANY,), 1000))
op("to_bfloat16", lambda x: x.astype(jnp.bfloat16), many(0))
op("complex_multiply", jnp.multiply, lambda: many(0)() + 1j * many(1)(), lambda: many(2)() + 1j * many(3)())

op("sort", jnp.sort, many(0))
op("argsort", jnp.argsort, many(0))
op("sort_integers", jnp.sort, lambda: integers(0, (MANY,), 1 << 30))
op("sort_by_two", lambda x, y: lax.sort((x, y), num_keys=2), lambda: integers(0, (1 << 18,), 1000), lambda: normal(0, (1 << 18,)))
op("top_k", lambda x: lax.top_k(x, 10), matrix)
op("median", lambda x: jnp.median(x, 1), matrix)
op("searchsorted", lambda x, y: jnp.searchsorted(x, y), lambda: jnp.sort(many(0)()), lambda: normal(1, (1 << 16,)))
op("unique_of_size", lambda x: jnp.unique(x, size=1000), lambda: integers(0, (1 << 18,), 1000))
op("bincount", lambda x: jnp.bincount(x, length=1000), lambda: integers(0, (1 << 20,), 1000))
op("cumsum", jnp.cumsum, many(0))
op("cummax", lambda x: lax.cummax(x, axis=1), matrix)
op("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), matrix)
op("associative_scan", lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x), axis=0),
   lambda: normal(0, (1024, 256)) * 0.1)
op("take_elements", lambda x, i: x[i], many(0), lambda: integers(6, (1 << 20,), MANY))
op("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1), matrix, lambda: integers(6, (2048, 1024), 1024))
op("set_rows_at", lambda x, i, v: x.at[i].set(v), matrix, picked, lambda: normal(8, (4096, 1024)))
op("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 2048), lambda: normal(8, (4096, 1024)), picked)
op("one_hot_product", lambda i, w: jax.nn.one_hot(i, 2048) @ w, picked, matrix)
op("update_slice", lambda x, v: lax.dynamic_update_slice(x, v, (100, 0)), matrix, lambda: normal(1, (64, 1024)))
op("triangle", jnp.tril, matrix)
op("interpolate", lambda x, y: jnp.interp(x, jnp.linspace(0, 1, 1000), y), unit, lambda: normal(0, (1000,)))
op("resize", lambda x: jax.image.resize(x, (8, 112, 112, 16), "bilinear"), lambda: normal(0, (8, 56, 56, 16)))
op("random_bits", lambda k: jax.random.bits(k, (MANY,)), lambda: jax.random.key(0))
op("normal", lambda k: jax.random.normal(k, (MANY,)), lambda: jax.random.key(0))
op("randint", lambda k: jax.random.randint(k, (MANY,), 0, 1000), lambda: jax.random.key(0))
op("dropout", lambda k, x: jnp.where(jax.random.bernoulli(k, 0.9, x.shape), x / 0.9, 0), lambda: jax.random.key(0), matrix)
op("permutation", lambda k: jax.random.permutation(k, 1 << 18), lambda: jax.random.key(0))
op("gamma", lambda k: jax.random.gamma(k, 2.0, (1 << 16,)), lambda: jax.random.key(0))

op("product_transposed", lambda x, y: x.T @ y, matrix, other)
op("outer_batches", lambda x, y: jnp.einsum("abc,abd->acd", x, y), lambda: normal(5, (64, 128, 64)), lambda: normal(6, (64, 128, 64)))
op("einsum_four", lambda x, y: jnp.einsum("bhqk,bkhd->bqhd", x, y), lambda: normal(7, (8, 4, 128, 128)), lambda: normal(8, (8, 128, 4, 64)))
op("product_float64_sum", lambda x, y: lax.dot(x, y, precision="highest"), lambda: normal(0, (512, 512)), lambda: normal(1, (512, 512)))
op("conv_nchw", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), lambda: normal(1, (32, 64, 56, 56)),
   lambda: normal(3, (64, 64, 3, 3)))
op("conv_dilated", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", rhs_dilation=(2, 2),
                                                         dimension_numbers=("NHWC", "HWIO", "NHWC")),
   images, lambda: normal(3, (3, 3, 64, 64)))
op("conv_transposed", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), lambda: normal(1, (8, 28, 28, 64)),
   lambda: normal(3, (3, 3, 64, 64)))
op("conv_gradient", jax.grad(lambda w, x: jnp.sum(jnp.square(convolved(x, w)))), lambda: normal(3, (3, 3, 64, 64)),
   lambda: normal(1, (8, 56, 56, 64)))
op("conv_1d", lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
   lambda: normal(1, (32, 1024, 32)), lambda: normal(3, (5, 32, 64)))
op("conv_3d", lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
   lambda: normal(1, (2, 16, 32, 32, 16)), lambda: normal(3, (3, 3, 3, 16, 16)))
op("avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4, images)
op("max_pool_3x3", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), images)
op("attention", lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True), lambda: normal(7, (8, 128, 4, 64)))
op("attention_gradient", jax.grad(lambda q: jnp.sum(jnp.square(jax.nn.dot_product_attention(q, q, q, is_causal=True)))),
   lambda: normal(7, (8, 128, 4, 64)))
op("softmax_by_hand", lambda x: jnp.exp(x - x.max(1, keepdims=True)) / jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True), matrix)
op("layer_norm", lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-6), matrix)
op("global_norm", lambda xs: jnp.sqrt(sum(jnp.sum(x * x) for x in xs)), lambda: [normal(i, (256, 1024)) for i in range(16)])

op("rfft_rows", jnp.fft.rfft, lambda: normal(11, (1024, 1024)))
op("fft2", jnp.fft.fft2, lambda: normal(11, (512, 512)) + 1j * normal(12, (512, 512)))
op("ifft_odd", jnp.fft.ifft, lambda: normal(11, (256, 1000)) + 1j * normal(12, (256, 1000)))
op("cholesky_256", jnp.linalg.cholesky, regular(256, spd))
op("cholesky_batch", jnp.linalg.cholesky, lambda: jax.vmap(spd)(normal(13, (256, 32, 32))))
op("solve_256", jnp.linalg.solve, regular(256), lambda: normal(14, (256, 8)))
op("triangular_256", lambda x, y: jax.scipy.linalg.solve_triangular(x, y, lower=True), regular(256, spd), lambda: normal(14, (256, 256)))
op("inverse_256", jnp.linalg.inv, regular(256))
op("det_batch", jnp.linalg.det, lambda: normal(13, (1024, 8, 8)))
op("qr_256", jnp.linalg.qr, regular(256))
op("svd_256", jnp.linalg.svd, regular(256))
op("eigh_256", jnp.linalg.eigh, regular(256, spd))
op("eig_128", jnp.linalg.eig, regular(128))
op("expm_256", lambda x: jax.scipy.linalg.expm(x * 0.01), regular(256))


# --- loops
def recurrent(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h

    return lax.scan(step, jnp.zeros((32, 128)), xs)[1].sum()


def lstm(w, xs):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ w, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros((32, 128)), jnp.zeros((32, 128))), xs)[1].sum()


def rnn_data():
    return normal(0, (128, 128)) * 0.1, normal(1, (200, 32, 128))


def lstm_data():
    return normal(0, (256, 512)) * 0.1, normal(1, (200, 32, 128))


def logistic(x):
    return lax.scan(lambda c, _: (3.7 * c * (1 - c), None), x, None, 100_000)[0]


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]


def newton(x):
    return lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - x) > 1e-4 * x, lambda s: (0.5 * (s[0] + x / s[0]), s[1] + 1), (x, 0))[0]


def fill(x):
    return lax.fori_loop(0, len(x), lambda i, x: x.at[i].set(x[i - 1] * 0.5 + i), x)


def heat(x):
    return lax.fori_loop(0, 100, lambda _, x: x + 0.1 * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x), x)


def pendulum(y):
    from jax.experimental.ode import odeint

    return odeint(lambda y, t: jnp.stack([y[1], -jnp.sin(y[0])]), y, jnp.linspace(0.0, 10.0, 50))


def layers(x, w):
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0]


def loop(name, f, data):
    row("loop/" + name)(lambda: bound_tree(jax.jit(f), *jax.block_until_ready(data())))


loop("rnn_200", recurrent, rnn_data)
loop("rnn_200_gradient", jax.grad(recurrent), rnn_data)
loop("lstm_200", lstm, lstm_data)
loop("lstm_200_gradient", jax.grad(lstm), lstm_data)
loop("scalar_scan", logistic, lambda: [jnp.float32(0.3)])
loop("collatz", collatz, lambda: [jnp.int32(77031)])
loop("newton_batch", jax.vmap(newton), lambda: [1.0 + jnp.arange(1000.0)])
loop("fill", fill, lambda: [jnp.zeros(10_000)])
loop("heat", heat, lambda: [normal(0, (256, 256))])
loop("pendulum", pendulum, lambda: [jnp.array([1.0, 0.0])])
loop("layers", layers, lambda: (normal(0, (64, 256)), normal(1, (32, 256, 256)) * 0.06))
loop("layers_gradient", jax.grad(lambda x, w: layers(x, w).sum(), 1), lambda: (normal(0, (64, 256)), normal(1, (32, 256, 256)) * 0.06))
loop("map", lambda x: lax.map(lambda r: jnp.sort(r).sum(), x), lambda: [normal(0, (1000, 100))])
loop("cond_in_scan", lambda x: lax.scan(lambda c, r: (lax.cond(r > 0, lambda: c + r, lambda: c * 0.5), c), 0.0, x)[0], lambda: [normal(0, (10_000,))])


# --- whole arrays over a mesh of eight devices
def tensor_parallel():
    """The GPT's products cut over eight devices."""
    at = on((8,), ("model",))
    cut = {"qkv": (at(None, "model"), at("model")), "up": (at(None, "model"), at("model")), "project": (at("model"), at()),
           "down": (at("model"), at())}

    def place(path, _):
        keys = [str(getattr(k, "key", "")) for k in path]
        return next((cut[k][keys[-1] == "b"] for k in keys if k in cut), at())

    p = jax_training.gpt_params()
    where = jax.tree_util.tree_map_with_path(place, p)
    states = (at(), where, where)
    step = jax.jit(jax_training.step_of(jax_training.gpt_loss), donate_argnums=(0, 1), out_shardings=(where, states, at()))
    x, y = jax.block_until_ready(jax.device_put(jax_training.text((8,)), at()))
    box = list(jax.block_until_ready(jax.device_put((p, jax_training.adam_init(p)), (where, states))))

    def call():
        box[0], box[1], value = step(box[0], box[1], x, y)
        value.block_until_ready()

    return call


row("gpt_tensor/8@jit")(tensor_parallel)


@contextlib.contextmanager
def on_platform(name):
    jax_row.platform = name.rpartition("@")[2]
    with jax.default_device(jax_row.devices_of(1)[0]):
        yield


def make(name):
    return ROWS[name.rpartition("@")[0]]()


def compiled(name):
    """Prints the microseconds, and those of processor time, from the end of the last lowering to the end of the first call."""
    lowered = [0.0, 0.0]

    def listen(event, *_, **__):
        if event == "/jax/core/compile/jaxpr_to_mlir_module_duration":
            lowered[:] = time.perf_counter(), serving.cpu_seconds()

    with on_platform(name):
        call = make(name)
        jax.monitoring.register_event_duration_secs_listener(listen)
        call()
        wall, cpu = time.perf_counter() - lowered[0], serving.cpu_seconds() - lowered[1]
        print(f"ok {wall * 1e6:.4f} {cpu * 1e6:.4f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*ROWS, sep="\n")
    elif sys.argv[1] == "--compile":
        compiled(sys.argv[2])
    else:
        serving.main(make, on_platform)
