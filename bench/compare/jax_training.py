"""Training steps of a perceptron, a convolutional network and a GPT, on one device and on several, in JAX."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_row import SPLIT, WHOLE, integers, normal, on, placed, pmapped, row, spread

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
    """`dtype` is used for arithmetic; parameters, norms, softmax and loss are float32."""
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
    """Each step continues from the previous one. Parameters and data are on their devices before the clock starts; the state is donated."""
    p = params()
    state = adam_init(p)
    donated = {"donate_argnums": (0, 1)}
    if form == "pmap":
        step = pmapped(step_of(loss, "i"), devices, axis_name="i", **donated)
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
    """Steps of whole arrays. The form gives the shardings of the state, the batch and the results."""
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
