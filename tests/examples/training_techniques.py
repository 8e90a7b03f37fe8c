"""Makes training_techniques.safetensors: the cells of examples/04_training_techniques in jax 0.10.2 on 8 CPU devices.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python training_techniques.py
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
DEVICES, SIZE, WIDTH, BATCH = 8, 16, 8, 64
out = {}


def make_cnn(key, size=SIZE, width=WIDTH):
    k1, k2, k3 = jax.random.split(key, 3)
    init = jax.nn.initializers.lecun_normal()
    shapes = {"conv1": (3, 3, 3, width), "conv2": (3, 3, width, 2 * width), "dense": (2 * width * (size // 4) ** 2, 10)}
    return {name: {"w": init(k, shape), "b": jnp.zeros(shape[-1])} for k, (name, shape) in zip((k1, k2, k3), shapes.items())}


def conv(x, p):
    return lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["b"]


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn(p, x):
    x = pool(jax.nn.relu(conv(x, p["conv1"])))
    x = pool(jax.nn.relu(conv(x, p["conv2"])))
    return x.reshape(x.shape[0], -1) @ p["dense"]["w"] + p["dense"]["b"]


def make_images(key, n, size=SIZE):
    pattern_key, label_key, noise_key = jax.random.split(key, 3)
    patterns = jax.random.normal(pattern_key, (10, size, size, 3))
    label = jax.random.randint(label_key, (n,), 0, 10)
    return patterns[label] + NOISE * jax.random.normal(noise_key, (n, size, size, 3)), label


NOISE = 1


def entropies(logits, label):
    return -jnp.sum(jax.nn.one_hot(label, 10) * jax.nn.log_softmax(logits), -1)


def loss_and_accuracy(p, batch):
    logits = cnn(p, batch[0])
    return jnp.mean(entropies(logits, batch[1])), jnp.mean(jnp.argmax(logits, -1) == batch[1])


def loss_of(p, batch):
    return loss_and_accuracy(p, batch)[0]


def shard(batch):
    return jax.tree.map(lambda x: x.reshape(DEVICES, -1, *x.shape[1:]), batch)


def rows(tree):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (DEVICES, *x.shape)), tree)


def pmap(f, in_axes):
    g = jax.pmap(f, axis_name="devices", in_axes=in_axes)
    return lambda *args: jax.tree.map(lambda x: x[0], g(*args))


def adam(params, m, v, t, grads, rate=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    t = t + 1
    step = lambda p, m, v: p - rate * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + eps)
    return jax.tree.map(step, params, m, v), m, v, t


def adam_state(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return params, zeros, zeros, jnp.float32(0)


def adam_step(state, batch):
    (loss, accuracy), grads = jax.value_and_grad(loss_and_accuracy, has_aux=True)(state[0], batch)
    grads = lax.pmean(grads, "devices")
    return adam(*state, grads), lax.pmean(loss, "devices"), lax.pmean(accuracy, "devices")


def norms(params):
    """One number for each parameter, in the order of the model."""
    return jnp.stack([jnp.sqrt(jnp.sum(jnp.square(params[n][k]))) for n in ("conv1", "conv2", "dense") for k in ("w", "b")])


def sgd(params, grads, rate):
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


model = make_cnn(jax.random.PRNGKey(0))
images, labels = make_images(jax.random.PRNGKey(1), 200)
batches = [(images[i:i + BATCH], labels[i:i + BATCH]) for i in range(0, 200, BATCH)]
out["initial/norms"] = norms(model)
out["initial/logits"] = cnn(model, images[:2])

# The document's loop.
step = jax.pmap(adam_step, axis_name="devices")
state, epochs = rows(adam_state(model)), []
for _ in range(EPOCHS := 10):
    run = []
    for batch in batches[:-1]:
        state, loss, accuracy = step(state, shard(batch))
        run.append((loss[0], accuracy[0]))
    epochs.append(np.mean(run, axis=0))
out["loop/losses"], out["loop/accuracies"] = np.stack(epochs).astype("float32").T

# Collectives.
g = jnp.array([[1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [0.5, 1.5, 2.5]])
out["pmean"] = jax.pmap(lambda g: lax.pmean(g, "devices"), axis_name="devices")(g)


def ring(own):
    held, passing = [own], own
    for _ in range(3):
        passing = lax.ppermute(passing, "devices", [(i, (i + 1) % 4) for i in range(4)])
        held.append(held[-1] + passing)
    return jnp.stack(held)


out["ring"] = jax.pmap(ring, axis_name="devices")(jnp.array([[1.0], [10.0], [100.0], [1000.0]])).transpose(1, 0, 2)
out["scatter_gather"] = jax.pmap(
    lambda x: lax.all_gather(lax.psum_scatter(x, "devices", tiled=True), "devices", tiled=True), axis_name="devices"
)(jnp.arange(16.0).reshape(4, 4))


# Accumulation.
def accumulate(params, parts):
    total = jax.grad(loss_of)(params, parts[0])
    for part in parts[1:]:
        total = jax.tree.map(jnp.add, total, jax.grad(loss_of)(params, part))
    return sgd(params, lax.pmean(jax.tree.map(lambda g: g / len(parts), total), "devices"), RATE)


RATE = 0.01
out["accumulate/norms"] = norms(pmap(accumulate, (None, 0))(model, [shard(b) for b in batches[:-1]]))


# Mixed precision: the layers' inputs and parameters in bfloat16.
def half_loss(params, batch):
    half = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)
    logits = cnn(half, batch[0].astype(jnp.bfloat16)).astype(jnp.float32)
    return jnp.mean(entropies(logits, batch[1]))


for name, f in {"float32": loss_of, "bfloat16": half_loss}.items():
    def step(params, batch):
        loss, grads = jax.value_and_grad(f)(params, batch)
        return sgd(params, lax.pmean(grads, "devices"), RATE), lax.pmean(loss, "devices")

    params, losses = model, []
    for batch in batches[:-1]:
        params, loss = pmap(step, (None, 0))(params, shard(batch))
        losses.append(loss)
    out[f"precision/{name}"] = jnp.stack(losses)

# One step on pixels that bfloat16 holds.
exact = jax.random.randint(jax.random.PRNGKey(2), batches[0][0].shape, -64, 64) / np.float32(32)
out["precision/exact_pixels"] = pmap(lambda p, b: lax.pmean(half_loss(p, b), "devices"), (None, 0))(model, shard((exact, batches[0][1])))

# Masked: the last batch alone, on one device.
loss, grads = jax.value_and_grad(loss_of)(model, batches[-1])
out["masked/loss"] = loss
out["masked/norms"] = norms(sgd(model, grads, RATE))

# Eight examples on one device, one on each other; the right loss, and the mean of the devices' own means.
first = shard(batches[0])
mask = jnp.zeros((DEVICES, 8)).at[:, 0].set(1).at[0].set(1)
each = jax.vmap(lambda x, y: entropies(cnn(model, x), y))(*first)
out["masked/uneven"] = jnp.stack([jnp.sum(each * mask) / jnp.sum(mask), jnp.mean(jnp.sum(each * mask, 1) / jnp.sum(mask, 1))])

# Rates.
big = make_images(jax.random.PRNGKey(1), BATCH)
out["rates"] = jnp.stack([loss_of(sgd(model, jax.grad(loss_of)(model, big), rate), big) for rate in (1e-3, 8e-3, 1e-2)])

# Adam on one batch: the losses of steps 0, 10 and 20.
state, losses = rows(adam_state(model)), []
step = jax.pmap(adam_step, axis_name="devices")
for _ in range(21):
    state, loss, _ = step(state, shard(big))
    losses.append(loss[0])
out["log"] = jnp.stack(losses[::10])
save(__file__, out)
for name in ("loop/losses", "loop/accuracies", "precision/float32", "precision/bfloat16", "masked/loss", "rates", "log"):
    print(name, np.asarray(out[name]).tolist())
