"""Training steps of networks as Flax's users write them, with Optax's optimisers: a perceptron, a convolutional network and a GPT of the
sizes of jax_training.py, and a residual network with batch norm and dropout."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jax_row import SPLIT, WHOLE, placed, row
from jax_training import HEADS, LAYERS, SEQUENCE, VOCABULARY, WIDTH, images, text, vectors


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.tanh(nn.Dense(256)(x))
        x = nn.tanh(nn.Dense(128)(x))
        return nn.Dense(10)(x)


class Convolutional(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        for features in (32, 64):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


class Residual(nn.Module):
    """Three stages of two blocks, as ResNets for small images have them."""

    @nn.compact
    def __call__(self, x, train=True):
        def norm(x):
            return nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)

        x = nn.relu(norm(nn.Conv(16, (3, 3), use_bias=False)(x)))
        for features, stride in ((16, 1), (32, 2), (64, 2)):
            for strides in (stride, 1):
                y = nn.relu(norm(nn.Conv(features, (3, 3), (strides, strides), use_bias=False)(x)))
                y = norm(nn.Conv(features, (3, 3), use_bias=False)(y))
                if y.shape != x.shape:
                    x = norm(nn.Conv(features, (1, 1), (strides, strides), use_bias=False)(x))
                x = nn.relu(x + y)
        x = nn.Dropout(0.1, deterministic=not train)(x.mean((1, 2)))
        return nn.Dense(10)(x)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(nn.LayerNorm()(x), mask=mask)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))


class Gpt(nn.Module):
    @nn.compact
    def __call__(self, ids, train=True):
        x = nn.Embed(VOCABULARY, WIDTH)(ids) + nn.Embed(SEQUENCE, WIDTH)(jnp.arange(SEQUENCE))
        mask = nn.make_causal_mask(ids)
        for _ in range(LAYERS):
            x = Block()(x, mask)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


class NnxPerceptron(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b, self.c = (nnx.Linear(n, m, rngs=rngs) for n, m in ((784, 256), (256, 128), (128, 10)))

    def __call__(self, x):
        return self.c(nnx.tanh(self.b(nnx.tanh(self.a(x)))))


class NnxConvolutional(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Conv(3, 32, (3, 3), rngs=rngs), nnx.Conv(32, 64, (3, 3), rngs=rngs)
        self.c = nnx.Linear(4096, 10, rngs=rngs)

    def __call__(self, x):
        for layer in (self.a, self.b):
            x = nnx.max_pool(nnx.relu(layer(x)), (2, 2), (2, 2))
        return self.c(x.reshape(x.shape[0], -1))


class NnxBlock(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second = nnx.LayerNorm(WIDTH, rngs=rngs), nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs), nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x, mask):
        x = x + self.attention(self.first(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.second(x))))


class NnxGpt(nnx.Module):
    def __init__(self, rngs):
        self.tokens, self.positions = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs), nnx.Embed(SEQUENCE, WIDTH, rngs=rngs)
        self.blocks = nnx.List([NnxBlock(rngs) for _ in range(LAYERS)])
        self.norm, self.head = nnx.LayerNorm(WIDTH, rngs=rngs), nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, ids):
        x = self.tokens(ids) + self.positions(jnp.arange(SEQUENCE))
        mask = nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def squares(outputs, wanted):
    return jnp.mean(jnp.square(outputs - wanted))


def entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def adam():
    return optax.adam(1e-3)


def scheduled():
    """What language models are trained with: clipped gradients, decayed weights, a warm start."""
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100, 10000)))


def linen_step(model, loss, optimiser):
    """A step of the state: (parameters, moving averages, the optimiser's state, key of dropout)."""

    def step(state, x, y):
        params, averages, moments, key = state
        key, dropped = jax.random.split(key)

        def objective(params):
            outputs, changed = model.apply({"params": params, **averages}, x, mutable=list(averages), rngs={"dropout": dropped})
            return loss(outputs, y), changed

        (value, averages), gradients = jax.value_and_grad(objective, has_aux=True)(params)
        updates, moments = optimiser.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), averages, moments, key), value

    return step


def linen(model, loss, optimiser, data, batch, devices):
    """Over several devices the batch is cut, and parameters are on each of them."""
    x, y = data((batch,))
    averages = dict(jax.jit(model.init)(jax.random.key(0), x))
    params = averages.pop("params")
    state = params, averages, optimiser.init(params), jax.random.key(1)
    options = {}
    if devices:
        whole, split = placed(devices, WHOLE), placed(devices, SPLIT)
        state, x, y = jax.device_put(state, whole), jax.device_put(x, split), jax.device_put(y, split)
        options["out_shardings"] = whole
    step = jax.jit(linen_step(model, loss, optimiser), donate_argnums=0, **options)
    box = [jax.block_until_ready((state, x, y))[0]]

    def call():
        box[0], value = step(box[0], x, y)
        value.block_until_ready()

    return call


def with_nnx(make, loss, optimiser, data, batch):
    model = make(nnx.Rngs(0))
    moments = nnx.Optimizer(model, optimiser, wrt=nnx.Param)

    @nnx.jit
    def step(model, moments, x, y):
        value, gradients = nnx.value_and_grad(lambda m: loss(m(x), y))(model)
        moments.update(model, gradients)
        return value

    x, y = jax.block_until_ready(data((batch,)))
    return lambda: step(model, moments, x, y).block_until_ready()


for name, model, nnx_model, loss, optimiser, data, batch in (
        ("mlp", Perceptron, NnxPerceptron, squares, adam, vectors, 512),
        ("cnn", Convolutional, NnxConvolutional, entropy, adam, images, 128),
        ("resnet", Residual, None, entropy, lambda: optax.sgd(0.1, 0.9), images, 64),
        ("gpt", Gpt, NnxGpt, entropy, scheduled, text, 8)):
    for n in (0, 4, 8):
        row(f"linen_{name}/{n or 'one'}")(
            lambda model=model, loss=loss, optimiser=optimiser, data=data, batch=batch, n=n:
            linen(model(), loss, optimiser(), data, batch, n))
    if nnx_model:
        row(f"nnx_{name}/one")(
            lambda model=nnx_model, loss=loss, optimiser=optimiser, data=data, batch=batch:
            with_nnx(model, loss, optimiser(), data, batch))
