"""Makes pmap_basics.safetensors: the cells of examples/00_pmap_basics in jax 0.10.2 on 4 CPU devices.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python pmap_basics.py

Large values are cut to a few entries, as the test cuts its own.
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
from jax import lax, pmap, random
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
N = 4
key = random.PRNGKey
out = {}

a, b = random.normal(key(42), (N, 64, 32)), random.normal(key(43), (N, 32, 16))
out.update(matmul=pmap(jnp.dot)(a, b)[:, ::16, ::4])

SIZES = [784, 256, 128, 10]


def init_mlp_params(k, sizes):
    keys = random.split(k, len(sizes))
    return [{"w": random.normal(random.split(keys[i])[0], (m, n)) * 0.1, "b": jnp.zeros(n)}
            for i, (m, n) in enumerate(zip(sizes[:-1], sizes[1:]))]


def forward(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(jnp.dot(x, layer["w"]) + layer["b"])
    return jnp.dot(x, params[-1]["w"]) + params[-1]["b"]


params = init_mlp_params(key(0), SIZES)
out.update(forward=pmap(forward, in_axes=(None, 0))(params, random.normal(key(1), (N, 784))))

param, data = random.normal(key(10), (64, 32)), random.normal(key(11), (N * 8, 64))
out.update(placement=pmap(lambda p, d: jnp.sum(d @ p, axis=1))(jnp.broadcast_to(param, (N, 64, 32)), data.reshape(N, 8, 64)))


def sums(x):
    local = jnp.sum(x)
    total = lax.psum(local, "devices")
    return local, total, total / lax.psum(x.size, "devices")


local, total, mean = pmap(sums, axis_name="devices")(random.normal(key(20), (N, 1000)))
out.update(local_sum=local, global_sum=total, global_mean=mean)


def loss_fn(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


def step(synchronised):
    def f(params, x, y, lr=0.01):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        if synchronised:
            grads = lax.pmean(grads, "devices")
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss
    return pmap(f, in_axes=(None, 0, 0), axis_name="devices")


x, y = random.normal(key(30), (N, 784)), random.normal(key(31), (N, 10))
for name, synchronised in (("synchronised", True), ("local", False)):
    new, losses = step(synchronised)(params, x, y)
    out.update(losses=losses, **{f"{name}_b{i}": layer["b"][:, :8] for i, layer in enumerate(new)},
         **{f"{name}_w{i}": layer["w"][:, :4, :4] for i, layer in enumerate(new)})
    if not synchronised:
        out.update(averaged_b1=jnp.mean(new[1]["b"], axis=0, keepdims=True),
             averaged_w2=jnp.mean(new[2]["w"], axis=0, keepdims=True)[:, ::16])
for size in (1000, 10000, 100000):
    rows = random.normal(key(40), (N, size))
    out.update(**{f"energy_{size}": pmap(lambda x: jnp.sum(x**2 + jnp.sin(x) * jnp.cos(x)))(rows)})

ones = jnp.ones((N, 10))
out.update(device_specific=pmap(lambda x, i: x * (i + 1))(ones, jnp.arange(N)),
     conditional=pmap(lambda x, lead: lax.cond(lead, lambda: jnp.sum(x) * 2, lambda: jnp.mean(x)))(ones, jnp.arange(N) == 0))


def statistics(x):
    m = jnp.mean(x, axis=0)
    return m, lax.pmean(m, "devices"), jnp.std(x, axis=0)


local, total, spread = pmap(statistics, axis_name="devices")(random.normal(key(50), (N, 1000, 64)))
out.update(local_mean=local, global_mean_of_columns=total, local_std=spread)

save(__file__, out)
