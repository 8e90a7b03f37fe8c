"""Makes single_host_sharding.safetensors: the cells of examples/01_single_host_sharding in jax 0.10.2 on 4 CPU devices.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python single_host_sharding.py

Large values are cut to a few entries, as the test cuts its own.
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, pmap, random
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
N = 4
key = random.PRNGKey
out = {}

x = jnp.arange(N * 4, dtype=jnp.float32).reshape(N, 4)
factors = jnp.array([10.0 * (i + 1) for i in range(N)], dtype=jnp.float32)
out.update(scaled=pmap(lambda s, f: s * f, in_axes=(0, 0), axis_name="i")(x, factors))
data = random.uniform(key(0), (8 * N, 3))
prepared = np.stack(np.split(np.asarray(data), N, axis=0), axis=0)
process = lambda s, p: jnp.sum(s * p, axis=0)
out.update(prepared=prepared, processed=pmap(process, in_axes=(0, None))(prepared, jnp.float32(5)),
     scalars=pmap(lambda s, p: jnp.sum(s * p), in_axes=(0, None))(prepared, jnp.float32(5)),
     identical=pmap(lambda s, p: jnp.array(42.0), in_axes=(0, None), out_axes=None)(jnp.zeros((N, 1)), None),
     subset=pmap(process, in_axes=(0, None), devices=jax.devices()[:2])(prepared[:2], jnp.float32(5)))


def static_op(x, v, offset):
    return x * 100 + offset if v > 5 else x * v + offset


f = pmap(static_op, static_broadcasted_argnums=(1,), in_axes=(0, None, None))
for v in (7, 3):
    out.update(**{f"static_{v}": f(prepared[:, :, 0], v, jnp.float32(0.5))})
out.update(features_0_2=prepared[:, :, 0] + prepared[:, :, 2])


def combine(s, w):
    y = jnp.dot(s, w)
    return lax.psum(y, "m"), lax.pmean(y[0, 0], "m"), lax.all_gather(y[0, :], "m"), lax.all_gather(y, "m", tiled=True)


total, mean, rows, whole = pmap(combine, in_axes=(0, None), axis_name="m")(prepared, random.uniform(key(1), (3, 2)))
out.update(psum=total, pmean=mean, rows=rows, whole=whole[0])

save(__file__, out)
