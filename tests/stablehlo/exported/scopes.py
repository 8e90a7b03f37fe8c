"""Writes scopes.mlir and scopes.mlirbc: a training step of JAX with named scopes, whose operations have the lines of this file.

pip install "jax==0.10.2"; python tests/stablehlo/exported/scopes.py
"""
import os

import jax
import jax.numpy as jnp
from jaxlib.mlir.dialects import stablehlo

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders of the machine that makes them
os.chdir(os.path.dirname(os.path.abspath(__file__)))


def layer(w, x):
    with jax.named_scope("layer"):
        return jnp.tanh(x @ w)


@jax.jit
def loss(w, x):
    with jax.named_scope("model"):
        y = layer(w, x)
        total, _ = jax.lax.scan(lambda c, a: (c + jnp.sum(jnp.sin(a)), None), 0.0, y)
    return total + jnp.sum(jax.nn.relu(y))


def step(w, x):
    value, g = jax.value_and_grad(loss)(w, x)
    with jax.named_scope("update"):
        return value, w - 0.1 * g


module = jax.jit(step).lower(jnp.ones((4, 4)), jnp.ones((2, 4))).compiler_ir("stablehlo")
with open("scopes.mlir", "w") as out:
    out.write(module.operation.get_asm(enable_debug_info=True))
with open("scopes.mlirbc", "wb") as out:
    out.write(stablehlo.serialize_portable_artifact(module, "1.17.0"))
