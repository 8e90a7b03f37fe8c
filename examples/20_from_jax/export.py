"""Exports three models from JAX and Flax, for the program beside it, which runs them without Python.

    python3 export.py        (jax 0.10.2, flax 0.12)

Each model is two functions: `init`, which draws its weights from a key, and the function itself. So no weights are stored. What JAX makes of
them on the CPU goes to models/expected.npz.
"""
import pathlib

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import export

# Files say nothing of the machine that they were made on.
jax.config.update("jax_include_full_tracebacks_in_locations", False)
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
here = pathlib.Path(__file__).parent / "models"
expected = {}


def write(name, function, *arguments):
    exported = export.export(jax.jit(function))(*arguments)
    (here / f"{name}.bin").write_bytes(exported.serialize())


def spec_of(tree):
    return [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in tree]


# ResNet-18 for images of 32 x 32, an eighth as wide as the original, any batch size.

class Block(nn.Module):
    width: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        norm = lambda: nn.BatchNorm(use_running_average=True)
        y = nn.Conv(self.width, (3, 3), self.stride, use_bias=False)(x)
        y = nn.relu(norm()(y))
        y = norm()(nn.Conv(self.width, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = norm()(nn.Conv(self.width, (1, 1), self.stride, use_bias=False)(x))
        return nn.relu(x + y)


class ResNet18(nn.Module):
    width: int = 8
    classes: int = 10

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (3, 3), use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=True)(x))
        for stage in range(4):
            for block in range(2):
                x = Block(self.width * 2**stage, 2 if stage > 0 and block == 0 else 1)(x)
        return nn.Dense(self.classes)(x.mean((1, 2)))


def resnet():
    model = ResNet18()
    shape = (1, 32, 32, 3)
    tree = jax.tree.structure(jax.eval_shape(lambda k: model.init(k, jnp.zeros(shape)), jax.random.key(0)))

    def init(key):
        return jax.tree.leaves(model.init(jax.random.wrap_key_data(key), jnp.zeros(shape)))

    def logits(weights, images):
        return model.apply(jax.tree.unflatten(tree, weights), images)

    key = jax.random.key_data(jax.random.key(0))
    weights = init(key)
    (b,) = export.symbolic_shape("b")
    write("resnet_init", init, key)
    write("resnet", logits, spec_of(weights), jax.ShapeDtypeStruct((b, 32, 32, 3), jnp.float32))
    images = jax.random.normal(jax.random.key(1), (32, 32, 32, 3))
    labels = jax.random.randint(jax.random.key(2), (32,), 0, 10)
    expected["resnet.logits"] = logits(weights, images[:8])

    def loss(weights):
        return optax.softmax_cross_entropy_with_integer_labels(logits(weights, images), labels).mean()

    losses = []
    for _ in range(5):
        value, gradients = jax.value_and_grad(loss)(weights)
        losses.append(value)
        weights = [w - 0.05 * g for w, g in zip(weights, gradients)]
    expected["resnet.losses"] = jnp.stack(losses)


# A transformer that is asked for one token at a time, and keeps the keys and values of those before.

LAYERS, HEADS, WIDTH, VOCABULARY, LONGEST = 2, 4, 64, 96, 24


class Decoder(nn.Module):
    @nn.compact
    def __call__(self, keys, values, token, position):
        x = nn.Embed(VOCABULARY, WIDTH)(token) + nn.Embed(LONGEST, WIDTH, name="positions")(position)
        seen = jnp.arange(LONGEST) <= position
        for layer in range(LAYERS):
            y = nn.LayerNorm()(x)
            q, k, v = (nn.DenseGeneral((HEADS, WIDTH // HEADS))(y) for _ in range(3))
            keys = jax.lax.dynamic_update_slice(keys, k[None, :, None], (layer, 0, position, 0, 0))
            values = jax.lax.dynamic_update_slice(values, v[None, :, None], (layer, 0, position, 0, 0))
            scores = jnp.einsum("bhd,bthd->bht", q, keys[layer]) / np.sqrt(WIDTH // HEADS)
            weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
            y = jnp.einsum("bht,bthd->bhd", weights, values[layer])
            x = x + nn.DenseGeneral(WIDTH, axis=(-2, -1))(y)
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x)), keys, values


def transformer():
    model, batch = Decoder(), 2
    cache = jnp.zeros((LAYERS, batch, LONGEST, HEADS, WIDTH // HEADS))
    first = (cache, cache, jnp.zeros(batch, jnp.int32), jnp.int32(0))
    tree = jax.tree.structure(jax.eval_shape(lambda k: model.init(k, *first), jax.random.key(0)))

    def init(key):
        return jax.tree.leaves(model.init(jax.random.wrap_key_data(key), *first))

    def step(weights, keys, values, token, position):
        return model.apply(jax.tree.unflatten(tree, weights), keys, values, token, position)

    key = jax.random.key_data(jax.random.key(3))
    weights = init(key)
    write("transformer_init", init, key)
    write("transformer", step, spec_of(weights), *first)
    keys, values, token = cache, cache, jnp.array([1, 2], jnp.int32)
    tokens = []
    run = jax.jit(step)
    for position in range(LONGEST):
        logits, keys, values = run(weights, keys, values, token, jnp.int32(position))
        token = logits.argmax(-1).astype(jnp.int32)
        tokens.append(token)
    expected["transformer.tokens"] = jnp.stack(tokens, 1)
    expected["transformer.logits"] = logits


# A step of a diffusion model: what is left of the noise after it (DDIM).

class Denoiser(nn.Module):
    width: int = 16

    @nn.compact
    def __call__(self, x, time):
        frequencies = jnp.exp(-np.log(10000) * jnp.arange(8) / 8)
        angles = time * frequencies
        t = nn.Dense(self.width)(nn.silu(nn.Dense(self.width)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)]))))

        def block(x, width):
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(4)(x)))
            y = y + nn.Dense(width)(t)
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(4)(y)))
            return y + (x if x.shape == y.shape else nn.Dense(width)(x))

        high = block(nn.Conv(self.width, (3, 3))(x), self.width)
        low = block(nn.Conv(2 * self.width, (3, 3), 2)(high), 2 * self.width)
        up = nn.ConvTranspose(self.width, (4, 4), (2, 2))(low)
        return nn.Conv(x.shape[-1], (3, 3))(block(jnp.concatenate([up, high], -1), self.width))


def diffusion():
    model = Denoiser()
    shape = (2, 16, 16, 1)
    tree = jax.tree.structure(jax.eval_shape(lambda k: model.init(k, jnp.zeros(shape), 0.0), jax.random.key(0)))

    def init(key):
        return jax.tree.leaves(model.init(jax.random.wrap_key_data(key), jnp.zeros(shape), 0.0))

    def kept(time):  # how much of the picture is in x, squared
        return jnp.cos(0.5 * np.pi * 0.99 * time / 1000) ** 2

    def step(weights, x, time, then):
        noise = model.apply(jax.tree.unflatten(tree, weights), x, time)
        picture = (x - jnp.sqrt(1 - kept(time)) * noise) / jnp.sqrt(kept(time))
        return jnp.sqrt(kept(then)) * picture + jnp.sqrt(1 - kept(then)) * noise

    key = jax.random.key_data(jax.random.key(4))
    weights = init(key)
    write("diffusion_init", init, key)
    write("diffusion", step, spec_of(weights), jnp.zeros(shape), jnp.float32(0), jnp.float32(0))
    x = jax.random.normal(jax.random.key(5), shape)
    run = jax.jit(step)
    for time in range(900, 0, -100):
        x = run(weights, x, jnp.float32(time), jnp.float32(time - 100))
    expected["diffusion.picture"] = x


here.mkdir(exist_ok=True)
resnet()
transformer()
diffusion()
np.savez_compressed(here / "expected.npz", **{name: np.asarray(x) for name, x in expected.items()})
