"""The rows of rows_bench in JAX, under the same names; requests as serving.py has them.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python jax_rows.py --serve

A row over several devices has up to three forms, named behind it: ROW@pmap; ROW@jit, a program of whole arrays whose arguments are
sharded by NamedSharding; ROW@shard_map. Arguments lie on their devices before the clock starts, and what Tessera's row donates is
donated.
"""

import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import serving

ROWS = {}
SPLIT, WHOLE = PartitionSpec("i"), PartitionSpec()


def row(name):
    """Registers a function that makes the data and gives one call, its results waited for."""

    def register(make):
        ROWS[name] = make
        return make

    return register


def normal(seed, shape):
    return jax.block_until_ready(jax.random.normal(jax.random.key(seed), shape))


def bound(f, *args):
    """For a function with one array as its result."""
    return lambda: f(*args).block_until_ready()


def bound_tree(f, *args):
    return lambda: jax.block_until_ready(f(*args))


def spread(x):
    """One row of x a device, as the results of pmap are."""
    return jax.block_until_ready(jax.pmap(lambda r: r)(x))


def placed(devices, spec):
    return NamedSharding(Mesh(np.array(jax.devices()[:devices]), ("i",)), spec)


def mapped(name, f, *data, devices=4, whole, out=SPLIT, specs=None, forms=("pmap", "jit", "shard_map"), wait=bound):
    """`f` runs once a device, on a row of each argument that is split; `whole` is the same of whole arrays, as users of jit write it.
    `data` are functions that make the arguments, by default all split; what `out` says is whole is the same on all devices."""
    specs = specs or (SPLIT,) * len(data)

    def by_pmap():
        def laid(x, spec):
            return spread(x if spec == SPLIT else jnp.broadcast_to(x, (devices,) + x.shape))

        return wait(jax.pmap(f, axis_name="i"), *(jax.tree.map(lambda x: laid(x, s), d()) for d, s in zip(data, specs)))

    def arguments():
        return jax.block_until_ready([jax.device_put(d(), placed(devices, s)) for d, s in zip(data, specs)])

    def by_jit():
        return wait(jax.jit(whole, out_shardings=placed(devices, out)), *arguments())

    def by_shard_map():
        def body(*args):
            rows = [jax.tree.map(lambda x: x[0], a) if s == SPLIT else a for a, s in zip(args, specs)]
            return jax.tree.map(lambda y: y[None] if out == SPLIT else y, f(*rows))

        mesh = placed(devices, out).mesh
        return wait(jax.jit(jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False)), *arguments())

    for form, make in zip(("pmap", "jit", "shard_map"), (by_pmap, by_jit, by_shard_map)):
        if form in forms:
            row(f"{name}@{form}")(make)


# --- dispatch
row("jit_scalar")(lambda: bound(jax.jit(lambda x: x + 1), jnp.zeros(())))
row("jit_tree_100")(lambda: bound_tree(jax.jit(lambda t: [x + 1 for x in t]), [jnp.zeros(()) for _ in range(100)]))
row("eager_add")(lambda: bound(lambda x: x + x, jnp.zeros(4)))
row("eager_update")(lambda: bound(lambda w, g: w - 0.1 * (g + 0.01 * w), jnp.ones(8), jnp.ones(8)))
mapped("pmap_plus_one", lambda x: x + 1, lambda: jnp.zeros((4, 8)), whole=lambda x: x + 1)
mapped("pmap_psum", lambda x: lax.psum(x, "i"), lambda: jnp.zeros((4, 8)), whole=lambda x: x.sum(0), out=WHOLE)
row("grad_eager")(lambda: bound(jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), jnp.ones(8)))


def chained(f, x):
    box = [f(x)]

    def call():
        box[0] = f(box[0])
        box[0].block_until_ready()

    return call


mapped("pmap_chained", lambda x: x + 1, lambda: jnp.zeros((4, 8)), whole=lambda x: x + 1, wait=chained)


# --- array programs
LARGE = 16 * 1024 * 1024


def energy(x):
    return jnp.sum(x * x + jnp.sin(x) * jnp.cos(x))


def one_by_one(f, n):
    data = [normal(i, (n,)) for i in range(4)]
    return lambda: jax.block_until_ready([f(r) for r in data])


for n in (1000, 10000, 100000, 1000000):
    mapped(f"pmap_energy/{n}", energy, lambda n=n: normal(0, (4, n)), whole=jax.vmap(energy))
    row(f"jit_energy/{n}")(lambda n=n: one_by_one(jax.jit(energy), n))
    row(f"eager_energy/{n}")(lambda n=n: one_by_one(energy, n))

row("multiply_add")(lambda: bound(jax.jit(lambda v, w: v * 3 + w), normal(0, (LARGE,)), normal(1, (LARGE,))))
row("chain")(lambda: bound(jax.jit(lambda v: jnp.log1p(jnp.exp(jnp.tanh(v)))), normal(0, (LARGE,))))
row("sum")(lambda: bound(jax.jit(jnp.sum), normal(0, (LARGE,))))
row("softmax")(lambda: bound(jax.jit(jax.nn.softmax), normal(0, (4096, 4096))))
row("transpose")(lambda: bound(jax.jit(jnp.transpose), normal(0, (4096, 4096))))
row("normals")(lambda: bound(jax.jit(lambda k: jax.random.normal(k, (4 * 1024 * 1024,))), jax.random.key(0)))
for n in (256, 512, 1024, 2048):
    row(f"matmul/{n}")(lambda n=n: bound(jax.jit(jnp.dot), normal(0, (n, n)), normal(1, (n, n))))
mapped("matmul_by_rows/512", jnp.dot, lambda: normal(0, (4, 128, 512)), lambda: normal(1, (512, 512)), specs=(SPLIT, WHOLE),
       whole=jnp.matmul)
mapped("matmul_by_columns/512", jnp.dot, lambda: normal(0, (512, 512)), lambda: normal(1, (4, 512, 128)), specs=(WHOLE, SPLIT),
       whole=jnp.matmul)


# --- functions and operations alone
MANY = 2 * 1024 * 1024


def integers(seed, shape, below):
    return jax.block_until_ready(jax.random.randint(jax.random.key(seed), shape, 0, below))


def op(name, f, *data):
    """`data` are functions that make the arguments."""
    row("op/" + name)(lambda: bound(jax.jit(f), *(d() for d in data)))


def unit():
    return jax.block_until_ready(jax.random.uniform(jax.random.key(0), (MANY,), minval=0.05, maxval=0.95))


for name in "exp expm1 log log1p sin cos tan arcsin arctan sinh cosh tanh arcsinh arctanh sqrt cbrt".split():
    op(name, getattr(jnp, name), unit)
op("erf", jax.scipy.special.erf, unit)
op("erfc", jax.scipy.special.erfc, unit)
op("arctan2", lambda x: jnp.arctan2(x, 1 - x), unit)
op("pow", lambda x: jnp.power(x, 1.7), unit)
op("silu", jax.nn.silu, unit)
op("softplus", jax.nn.softplus, unit)
op("gelu", jax.nn.gelu, unit)
op("gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), unit)


def matrix():
    return normal(0, (2048, 1024))


def other():
    return normal(8, (2048, 1024))


def vector():
    return normal(1, (MANY,))


def images():
    return normal(1, (32, 56, 56, 64))


def picked():
    return integers(2, (4096,), 2048)


op("sum_rows", lambda x: x.sum(1), matrix)
op("sum_columns", lambda x: x.sum(0), matrix)
op("max_rows", lambda x: x.max(1), matrix)
op("max_columns", lambda x: x.max(0), matrix)
op("argmax", jnp.argmax, vector)
op("argmax_rows", lambda x: x.argmax(1), matrix)
op("std_rows", lambda x: x.std(1), matrix)
op("norm", jnp.linalg.norm, vector)
op("logsumexp_rows", lambda x: jax.scipy.special.logsumexp(x, 1), matrix)
op("cumsum_rows", lambda x: jnp.cumsum(x, 1), matrix)
op("cumsum_columns", lambda x: jnp.cumsum(x, 0), matrix)
op("sort_rows", lambda x: jnp.sort(x, 1), matrix)
op("argsort_rows", lambda x: jnp.argsort(x, 1), matrix)

square = lambda: normal(13, (1000, 1000))
waves = lambda *shape: lambda: normal(11, shape) + 1j * normal(12, shape)
op("fft_line", jnp.fft.fft, waves(1 << 20))
op("fft_rows", jnp.fft.fft, waves(1024, 1024))
op("solve", jnp.linalg.solve, square, lambda: normal(14, (1000,)))
op("cholesky", jnp.linalg.cholesky, lambda: square() @ square().T + 1000 * jnp.eye(1000))

op("transpose", jnp.transpose, matrix)
op("nhwc_to_nchw", lambda x: jnp.transpose(x, (0, 3, 1, 2)), images)
op("concatenate", lambda x: jnp.concatenate([x, x], 1), matrix)
op("pad", lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), images)
op("flip", lambda x: jnp.flip(x, 1), matrix)
op("roll", lambda x: jnp.roll(x, 3, 1), matrix)
op("where", lambda x, y: jnp.where(x > 0, x, y), matrix, other)
op("take_rows", lambda x, i: jnp.take(x, i, 0), matrix, picked)
op("take_rows_gradient", lambda x, i, g: jax.grad(lambda w: jnp.sum(jnp.take(w, i, 0) * g))(x), matrix, picked,
   lambda: normal(4, (4096, 1024)))
op("add_at", lambda x, i, v: x.at[i].add(v), lambda: normal(5, (MANY,)), lambda: integers(6, (1 << 18,), MANY),
   lambda: normal(7, (1 << 18,)))
op("add_rows_at", lambda x, i, v: x.at[i].add(v), matrix, picked, lambda: normal(8, (4096, 1024)))

op("matrix_vector", jnp.dot, matrix, lambda: normal(2, (1024,)))
op("vector_matrix", lambda x, y: y @ x, matrix, lambda: normal(3, (2048,)))
op("few_columns", jnp.dot, matrix, lambda: normal(4, (1024, 16)))
op("many_small", jnp.matmul, lambda: normal(5, (256, 64, 64)), lambda: normal(6, (256, 64, 64)))
op("attention_scores", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), lambda: normal(7, (8, 128, 4, 64)),
   lambda: normal(8, (8, 128, 4, 64)))
op("product_bfloat16", lambda x: x @ x, lambda: normal(1, (512, 512)).astype(jnp.bfloat16))
op("product_int32", lambda x: x @ x, lambda: integers(9, (256, 256), 100))


def convolved(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def normalised(x, g):
    d = x - x.mean(-1, keepdims=True)
    return jnp.sum(d * lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g)


def label_loss(x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()


def scan_elementwise(x):
    def step(h, r):
        h = jnp.tanh(h * 0.9 + r)
        return h, h

    return lax.scan(step, jnp.zeros(1024), x)[1]


op("conv_3x3", convolved, images, lambda: normal(3, (3, 3, 64, 64)))
op("conv_1x1", convolved, images, lambda: normal(4, (1, 1, 64, 128)))
op("conv_3x3_strided", lambda x, w: convolved(x, w, 2), images, lambda: normal(5, (3, 3, 64, 64)))
op("conv_depthwise", lambda x, w: convolved(x, w, 1, 64), images, lambda: normal(6, (3, 3, 1, 64)))
op("conv_one_image", convolved, lambda: normal(7, (1, 56, 56, 64)), lambda: normal(3, (3, 3, 64, 64)))
op("max_pool", max_pool, images)
op("max_pool_gradient", jax.grad(lambda x: jnp.sum(jnp.square(max_pool(x)))), images)
op("batch_norm", lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), images)
op("layer_norm_gradient", jax.grad(normalised), matrix, other)
op("softmax_gradient", jax.grad(lambda x, g: jnp.sum(jax.nn.softmax(x) * g)), matrix, other)
op("cross_entropy", label_loss, matrix, lambda: integers(2, (2048,), 1024))
op("cross_entropy_gradient", jax.grad(label_loss), matrix, lambda: integers(2, (2048,), 1024))
op("scan_elementwise", scan_elementwise, matrix)
op("gradients_of_examples", lambda x, w: jax.vmap(jax.grad(lambda r: jnp.sum(jnp.tanh(w @ r))))(x),
   lambda: normal(9, (512, 64)), lambda: normal(10, (64, 64)))
op("categorical", lambda x: jax.random.categorical(jax.random.key(0), x), matrix)
op("uniform", lambda k: jax.random.uniform(k, (MANY,)), lambda: jax.random.key(0))


def rnn_parts():
    xs, start = normal(1, (1000, 64)), jnp.zeros(64)

    def final(w):
        def step(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h

        return lax.scan(step, start, xs)[0]

    return final, normal(0, (64, 64)) * 0.1


@row("rnn")
def rnn():
    final, w = rnn_parts()
    return bound(jax.jit(final), w)


@row("rnn_grad_flushed")  # XLA's kernels always take subnormal numbers for zeros
@row("rnn_grad")
def rnn_grad():
    final, w = rnn_parts()
    return bound(jax.jit(jax.grad(lambda w: jnp.sum(final(w)))), w)


# --- collectives, 16 MB a device
EACH = 4 * 1024 * 1024


def collective(name, shape, f, whole, out=SPLIT, **more):
    mapped(name, f, lambda: normal(0, shape), whole=whole, out=out, **more)


collective("psum", (4, EACH), lambda x: lax.psum(x, "i"), lambda x: x.sum(0), WHOLE)
collective("all_gather", (4, EACH), lambda x: lax.all_gather(x, "i"), lambda x: x, WHOLE)
collective("psum_scatter", (4, 4, EACH // 4), lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0))
collective("all_to_all", (4, 4, EACH // 4), lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: x.swapaxes(0, 1))
collective("ppermute", (4, EACH), lambda x: lax.ppermute(x + 1, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
           lambda x: jnp.roll(x + 1, 1, 0))


def collectives_by_size(size, each, devices):
    """For devices of several processes. What a device gives is cut into as many parts as there are devices, where parts go to them."""
    whole, parts = (devices, each), (devices, devices, each // devices)
    ring = [(d, (d + 1) % devices) for d in range(devices)]

    def add(name, *rest):
        collective(f"{name}/{size}/{devices}", *rest, devices=devices)

    add("psum", whole, lambda x: lax.psum(x, "i"), lambda x: x.sum(0), WHOLE)
    add("all_gather", whole, lambda x: lax.all_gather(x, "i"), lambda x: x, WHOLE)
    add("psum_scatter", parts, lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0))
    add("all_to_all", parts, lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: x.swapaxes(0, 1))
    add("ppermute", whole, lambda x: lax.ppermute(x + 1, "i", ring), lambda x: jnp.roll(x + 1, 1, 0))


for devices in (4, 8):
    for size, each in (("1KB", 256), ("1MB", 256 * 1024), ("16MB", EACH)):
        collectives_by_size(size, each, devices)

mapped("psum_100", lambda t: lax.psum(t, "i"), lambda: [normal(i, (4, 1000)) for i in range(100)],
       whole=lambda t: [x.sum(0) for x in t], out=WHOLE, wait=bound_tree)


def chain_of_sums(x):
    for i in range(100):
        x = lax.psum(x, "i") * 0.25 + float(i)
    return x


# Of whole arrays this is a chain of multiplications: a sum of equal rows is no collective.
collective("psum_chain", (4, 1000), chain_of_sums, None, forms=("pmap", "shard_map"))


# --- whole arrays over meshes
def on(sizes, names):
    """A mesh of the first devices, as a function from specs to shardings."""
    mesh = Mesh(np.array(jax.devices()[: np.prod(sizes)]).reshape(sizes), names)
    return lambda *spec: NamedSharding(mesh, PartitionSpec(*spec))


WAYS = {"whole": ((), (), ()), "rows": (("x",), (), ("x",)), "columns": ((), (None, "x"), (None, "x")),
        "contracted": ((None, "x"), ("x",), ()), "grid": (("x",), (None, "y"), ("x", "y"))}


def product(way, n, devices, form):
    at = on((devices // 2, 2), ("x", "y")) if way == "grid" else on((devices,), ("x",))
    a, b, out = (at(*spec) for spec in WAYS[way])

    def body(a, b):
        return lax.psum(a @ b, "x") if way == "contracted" else a @ b

    f = jax.jit(jnp.dot, out_shardings=out) if form == "jit" else jax.jit(
        jax.shard_map(body, mesh=out.mesh, in_specs=(a.spec, b.spec), out_specs=out.spec, check_vma=False))
    return bound(f, *jax.block_until_ready([jax.device_put(normal(0, (n, n)), a), jax.device_put(normal(1, (n, n)), b)]))


for way in WAYS:
    for n in (512, 2048):
        for devices in (4, 8):
            for form in ("jit", "shard_map"):
                row(f"sharded_matmul_{way}/{n}/{devices}@{form}")(
                    lambda way=way, n=n, devices=devices, form=form: product(way, n, devices, form))


def reshard(f):
    at = on((4,), ("x",))
    return bound(f(at(None, "x")), jax.block_until_ready(jax.device_put(normal(0, (4096, 4096)), at("x"))))


row("reshard/4@jit")(lambda: reshard(lambda to: jax.jit(lambda x: x, out_shardings=to)))
row("reshard/4@put")(lambda: reshard(lambda to: lambda x: jax.device_put(x, to)))
row("sharded_plus_one@jit")(lambda: bound(jax.jit(lambda x: x + 1), jax.device_put(jnp.zeros((4, 8)), on((4,), ("x",))("x"))))


# --- training
def adam_init(p):
    return jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)


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


def apply(p, x):
    return x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def mlp_params():
    a, b, c = jax.random.split(jax.random.key(0), 3)
    return [dense(a, 784, 256), dense(b, 256, 128), dense(c, 128, 10)]


def mlp_loss(p, x, y):
    for layer in p[:-1]:
        x = jnp.tanh(apply(layer, x))
    return jnp.mean(jnp.square(apply(p[-1], x) - y))


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
    return cross_entropy(apply(p["d"], x.reshape(x.shape[0], -1)).astype(jnp.float32), labels)


WIDTH, LAYERS, HEADS, SEQUENCE, VOCABULARY = 256, 4, 4, 128, 96


def norm_params():
    return {"s": jnp.ones(WIDTH), "b": jnp.zeros(WIDTH)}


def gpt_params(layers=LAYERS):
    keys = iter(jax.random.split(jax.random.key(0), 3 + 4 * layers))
    return {
        "tokens": jax.random.normal(next(keys), (VOCABULARY, WIDTH)) * 0.06,
        "positions": jax.random.normal(next(keys), (SEQUENCE, WIDTH)) * 0.06,
        "head": dense(next(keys), WIDTH, VOCABULARY),
        "norm": norm_params(),
        "blocks": [{
            "n1": norm_params(), "n2": norm_params(),
            "qkv": dense(next(keys), WIDTH, 3 * WIDTH), "project": dense(next(keys), WIDTH, WIDTH),
            "up": dense(next(keys), WIDTH, 4 * WIDTH), "down": dense(next(keys), 4 * WIDTH, WIDTH),
        } for _ in range(layers)],
    }


def layer_norm(p, x):
    dtype, x = x.dtype, x.astype(jnp.float32)
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return ((x - mean) * lax.rsqrt(var + 1e-5) * p["s"] + p["b"]).astype(dtype)


def attend(p, x):
    b, t, _ = x.shape
    d = WIDTH // HEADS
    q, k, v = jnp.split(apply(p["qkv"], x).reshape(b, t, HEADS, 3 * d), 3, 3)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * d**-0.5
    scores = scores.astype(jnp.float32)
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)).astype(x.dtype)
    return apply(p["project"], jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, WIDTH))


def gpt_loss(p, ids, labels, dtype=jnp.float32):
    """`dtype` is that of the arithmetic between float32 parameters, norms, softmax and loss."""
    x = (p["tokens"][ids] + p["positions"]).astype(dtype)
    for block in p["blocks"]:
        x = x + attend(block, layer_norm(block["n1"], x))
        x = x + apply(block["down"], jax.nn.gelu(apply(block["up"], layer_norm(block["n2"], x))))
    return cross_entropy(apply(p["head"], layer_norm(p["norm"], x)).astype(jnp.float32), labels)


def gpt_bf16_loss(p, ids, labels):
    return gpt_loss(p, ids, labels, jnp.bfloat16)


def step_of(loss, axis=None):
    def step(p, state, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        if axis:
            value, g = lax.pmean((value, g), axis)
        p, state = adam(p, g, state)
        return p, state, value

    return step


def training(loss, params, data, batch, devices, form):
    """Steps that feed each other. Parameters and data lie on their devices before the clock starts; the state is donated."""
    p = params()
    state = adam_init(p)
    donated = {"donate_argnums": (0, 1)}
    if form == "pmap":
        step = jax.pmap(step_of(loss, "i"), axis_name="i", **donated)
        p, state = jax.tree.map(lambda a: spread(jnp.broadcast_to(a, (devices,) + a.shape)), (p, state))
        x, y = map(spread, data((devices, batch // devices)))
    elif devices:
        whole, split = placed(devices, WHOLE), placed(devices, SPLIT)
        if form == "jit":
            step = jax.jit(step_of(loss), out_shardings=whole, **donated)
        else:
            step = jax.jit(jax.shard_map(step_of(loss, "i"), mesh=whole.mesh, in_specs=(WHOLE, WHOLE, SPLIT, SPLIT),
                                         out_specs=WHOLE, check_vma=False), **donated)
        p, state = jax.device_put((p, state), whole)
        x, y = jax.block_until_ready(jax.device_put(data((batch,)), split))
    else:
        step = jax.jit(step_of(loss), **donated)
        x, y = data((batch,))
    box = list(jax.block_until_ready((p, state)))

    def call():
        box[0], box[1], value = step(box[0], box[1], x, y)
        value.block_until_ready()

    return call


def gpt_sharded(form):
    """Steps of whole arrays; state and batch lie as the form has them, and so do the results."""
    at = on((2, 2), ("data", "model")) if form == "2x2" else on((4,), ("data" if form in ("data", "fsdp") else "model",))
    cut = {"qkv": (at(None, "model"), at("model")), "up": (at(None, "model"), at("model")), "project": (at("model"), at()),
           "down": (at("model"), at())} if form in ("tensor", "2x2") else {}

    def place(path, leaf):
        if form == "fsdp":
            return at("data")
        keys = [str(getattr(k, "key", "")) for k in path]
        return next((cut[k][keys[-1] == "b"] for k in keys if k in cut), at())

    p = gpt_params()
    where = jax.tree_util.tree_map_with_path(place, p)
    where_state = (at(), where, where)
    batch = at() if form == "tensor" else at("data")
    step = jax.jit(step_of(gpt_loss), donate_argnums=(0, 1), out_shardings=(where, where_state, at()))
    x, y = jax.block_until_ready(jax.device_put(text((8,)), batch))
    box = list(jax.block_until_ready(jax.device_put((p, adam_init(p)), (where, where_state))))

    def call():
        box[0], box[1], value = step(box[0], box[1], x, y)
        value.block_until_ready()

    return call


for form in ("data", "fsdp", "tensor", "2x2"):
    row(f"gpt_{form}/4@jit")(lambda form=form: gpt_sharded(form))


def integers(seed, shape, high):
    return jax.random.randint(jax.random.key(seed), shape, 0, high)


def vectors(lead):
    return normal(1, lead + (784,)), normal(2, lead + (10,))


def images(lead):
    return normal(1, lead + (32, 32, 3)), integers(3, lead, 10)


def text(lead):
    return integers(1, lead + (SEQUENCE,), VOCABULARY), integers(2, lead + (SEQUENCE,), VOCABULARY)


for name, loss, params, data, batch, counts in (
        ("mlp", mlp_loss, mlp_params, vectors, 512, (0, 4, 8)),
        ("mlp_480", mlp_loss, mlp_params, vectors, 480, (4, 96)),
        ("cnn", cnn_loss, cnn_params, images, 128, (0, 4, 8)),
        ("cnn_96", cnn_loss, cnn_params, images, 96, (4, 96)),
        ("cnn_bf16", lambda p, x, y: cnn_loss(p, x, y, jnp.bfloat16), cnn_params, images, 128, (0,)),
        ("gpt", gpt_loss, gpt_params, text, 8, (0, 4, 8)),
        ("gpt_bf16", gpt_bf16_loss, gpt_params, text, 8, (0,)),
        ("gpt_deep", gpt_loss, lambda: gpt_params(48), text, 8, (0,))):
    for n in counts:
        for form in ("pmap", "jit", "shard_map") if n else ("",):
            row(f"{name}/{n or 'one'}" + (f"@{form}" if form else ""))(
                lambda loss=loss, params=params, data=data, batch=batch, n=n, form=form:
                training(loss, params, data, batch, n, form))


# --- models from files
def exported(name):
    """A model of examples/20_from_jax, read from its file, with weights that its `init` drew."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "examples" / "20_from_jax" / "models"
    init, function = (export.deserialize(bytearray((folder / f"{n}.bin").read_bytes())) for n in (name + "_init", name))
    weights = init.call(jax.random.key_data(jax.random.key(0)))
    arguments = jax.tree.unflatten(function.in_tree, function.in_avals)[0]
    rest = [jnp.zeros([n if isinstance(n, int) else 8 for n in a.shape], a.dtype) for a in arguments[1:]]
    return bound_tree(jax.jit(function.call), weights, *jax.block_until_ready(rest))


for model in ("resnet", "transformer", "diffusion"):
    row(f"from_jax/{model}")(functools.partial(exported, model))


if __name__ == "__main__":
    serving.main(lambda name: ROWS[name]())
