"""Exports a small model from JAX for lesson 11: python3 11_from_jax.py"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

jax.config.update("jax_include_full_tracebacks_in_locations", False)  # no paths of this machine
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def model(weights, x):
    hidden = jnp.tanh(x @ weights["w1"] + weights["b1"])
    return (hidden @ weights["w2"] + weights["b2"])[:, 0]


def loss(weights, x, y):
    return jnp.mean((model(weights, x) - y) ** 2)


k1, k2 = jax.random.split(jax.random.key(0))
weights = {"w1": 2 * jax.random.normal(k1, (1, 24)), "b1": jnp.linspace(-4, 4, 24),
           "w2": 0.2 * jax.random.normal(k2, (24, 1)), "b2": jnp.zeros(1)}
x = jnp.linspace(-3, 3, 100)[:, None]
step = jax.jit(lambda w: jax.tree.map(lambda p, g: p - 0.05 * g, w, jax.grad(loss)(w, x, jnp.sin(x[:, 0]))))
for _ in range(5000):
    weights = step(weights)

here = pathlib.Path(__file__)
(rows,) = export.symbolic_shape("rows")  # any number of rows
shapes = jax.tree.map(lambda w: jax.ShapeDtypeStruct(w.shape, w.dtype), weights)
exported = export.export(jax.jit(model))(shapes, jax.ShapeDtypeStruct((rows, 1), jnp.float32))
here.with_suffix(".bin").write_bytes(exported.serialize())
np.savez(here.with_suffix(".npz"), **weights, result=model(weights, x[:5]))
