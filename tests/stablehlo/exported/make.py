"""Writes the files of this folder: functions that JAX exported, as text, as a portable artifact and as jax.export's file.

pip install "jax==0.10.2" flatbuffers; python tests/stablehlo/exported/make.py
"""
import os

import jax
import jax.numpy as jnp
from jax import export

os.chdir(os.path.dirname(os.path.abspath(__file__)))
f32, i32 = jnp.float32, jnp.int32


def dense(x, w):
    y = jnp.tanh(x @ w)
    return jax.nn.softmax(y), jnp.sum(y, axis=0), jnp.argmax(y, 1)


def loop(x):
    return jax.lax.scan(lambda c, t: (c * 0.5 + t, c), x[0], x)


def constants(x):
    return x * jnp.arange(6, dtype=f32) + jnp.cumsum(x) - jnp.full((6,), 2.5, f32)


def scattered(x):
    return jnp.sort(x)[::-1], x.at[1].set(3.0), x[jnp.array([4, 0, 5])]


def convolved(x, k):
    y = jax.lax.conv_general_dilated(x, k, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 1, 1), "SAME")


def unused(a, b, c):
    return a + c * 2


FUNCTIONS = {
    "dense": (dense, [((4, 3), f32), ((3, 5), f32)], None),
    "loop": (loop, [((6, 3), f32)], None),
    "constants": (constants, [((6,), f32)], None),
    "scattered": (scattered, [((6,), f32)], None),
    "convolved": (convolved, [((2, 8, 7, 3), f32), ((3, 2, 3, 4), f32)], None),
    "unused": (unused, [((2, 3), f32), ((4,), i32), ((), f32)], None),
    "platforms": (lambda x: jnp.sin(x) * 2, [((3,), f32)], ["tpu", "cpu"]),
    "only_tpu": (lambda x: jnp.sin(x) * 2, [((3,), f32)], ["tpu", "cuda"]),
}

for name, (f, types, platforms) in FUNCTIONS.items():
    exported = export.export(jax.jit(f), platforms=platforms)(*[jax.ShapeDtypeStruct(s, t) for s, t in types])
    with open(name + ".jaxexport", "wb") as out:
        out.write(exported.serialize())
    if platforms is None and name != "unused":
        with open(name + ".mlirbc", "wb") as out:
            out.write(exported.mlir_module_serialized)
        text = "\n".join(line for line in exported.mlir_module().splitlines() if not line.startswith("#loc"))
        with open(name + ".mlir", "w") as out:
            out.write(text + "\n")
