"""Compares exported functions of any batch size, and sharded ones, with JAX's results: MODELS_OF_ANY_SIZE.PY TESSERA. Skipped without
JAX (77)."""
import os
import sys

sys.dont_write_bytecode = True
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
import model_runs
from model_runs import compare, recurrent, run

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

try:
    from jax import export, shard_map
except ImportError as e:  # old versions of JAX
    model_runs.skip(e)

rng = np.random.default_rng(0)


def draw(shape, dtype):
    return (rng.standard_normal(shape) if np.issubdtype(dtype, np.floating) else rng.integers(0, 3, shape)).astype(dtype)


# --- any size

b, c = export.symbolic_shape("b, c")
even, = export.symbolic_shape("2*h,")
f32, i32, u32 = np.float32, np.int32, np.uint32


def layers(w, x):
    h = jnp.tanh(x @ w)
    y = jnp.concatenate([h - h.mean(0, keepdims=True), jnp.zeros((x.shape[0], 2))], 1)
    z = jnp.pad(y, ((1, 0), (0, 0)))[:-1]
    i = jnp.arange(x.shape[0])
    return jax.nn.softmax(z), jnp.sum(y[::-1]) / x.shape[0], i, jnp.take(z, i, axis=0), x.reshape(-1)


def pooled(k, x):
    y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").reshape(x.shape[0], -1)


def attention(q):
    mask = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    return jax.nn.softmax(jnp.where(mask, q @ jnp.swapaxes(q, 1, 2), -1e9)) @ q


open_models = {
    "layers": (layers, [((4, 3), f32), ((b, 4), f32)], [((4, 3), (5, 4)), ((4, 3), (1, 4))]),
    "halves": (lambda x: x.reshape(2, -1), [((even,), f32)], [((6,),), ((2,),)]),
    "gradient": (jax.value_and_grad(lambda w, x, y: jnp.mean((jnp.tanh(x @ w) - y) ** 2)), [((4, 3), f32), ((b, 4), f32), ((b, 3), f32)],
                 [((4, 3), (5, 4), (5, 3))]),
    "pooled": (pooled, [((3, 3, 2, 4), f32), ((b, 2 * c, 2 * c, 2), f32)], [((3, 3, 2, 4), (3, 6, 6, 2)), ((3, 3, 2, 4), (1, 8, 8, 2))]),
    "recurrent": (recurrent, [((4, 4), f32), ((7, b, 4), f32)], [((4, 4), (7, 3, 4))]),
    "orders": (lambda x: (jnp.cumsum(x, 0), jnp.sort(x, 0), jnp.argsort(x, 1), jnp.argmax(x, 0), x[1:], x.T, x[:, ::-1]), [((b, c), f32)], [((5, 3),), ((2, 4),)]),
    "random": (lambda k, x: jax.random.normal(jax.random.wrap_key_data(k), x.shape) + x, [((2,), u32), ((b, 3), f32)], [((2,), (4, 3))]),
    "attention": (attention, [((b, c, 4), f32)], [((2, 5, 4),), ((1, 7, 4),)]),
    "indices": (lambda i, x: (jax.nn.one_hot(i, 5), x.at[i].add(1.0), jnp.take_along_axis(x, i[:, None], 0)), [((b,), i32), ((b, 3), f32)], [((4,), (4, 3))]),
}
for name, (f, spec, sizes) in open_models.items():
    e = export.export(jax.jit(f))(*[jax.ShapeDtypeStruct(s, d) for s, d in spec])
    for form, data in {"text": e.mlir_module().encode(), "file": bytes(e.serialize())}.items():
        for size in sizes:
            args = [draw(s, d) for s, (_, d) in zip(size, spec)]
            compare(f"{name}, {form}, {size}", data, args, e.call(*args), "8")
# Five elements cannot be halved.
r = run(export.export(jax.jit(open_models["halves"][0]))(jax.ShapeDtypeStruct((even,), f32)).mlir_module().encode(), [draw((5,), f32)], "8")
assert r.returncode != 0 and "Division had remainder 1 when computing the value of 'h'" in r.stdout + r.stderr, r.stdout + r.stderr

# --- sharded

for shape in ((2, 2), (2, 4), (4, 2)):
    devices = shape[0] * shape[1]
    mesh = Mesh(np.array(jax.devices()[:devices]).reshape(shape), ("x", "y"))

    def on(*spec):
        return NamedSharding(mesh, P(*spec))

    def annotated(w, x):
        h = jax.lax.with_sharding_constraint(jnp.tanh(x @ w), on("x", "y"))
        return h * 2, h.sum(0)

    def per_device(w, x):
        y = jax.lax.psum(x @ w, "y")
        return (y + jax.lax.axis_index("x"), jax.lax.all_gather(y, "x", axis=0, tiled=True), jax.lax.ppermute(y, "x", [(i, (i + 1) % shape[0]) for i in range(shape[0])]),
                jax.lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True), jax.lax.all_to_all(x, "x", 1, 0, tiled=True), jax.lax.pmax(x.max(), ("x", "y")))

    mapped = shard_map(per_device, mesh=mesh, in_specs=(P("y"), P("x", "y")),
                       out_specs=(P("x"), P(), P("x"), P("x", "y"), P("x", "y"), P()), check_vma=False)
    args = (draw((16, 4), f32), draw((16, 16), f32))
    for name, f, shardings in (("annotated", annotated, (on(None, "y"), on("x"))), ("gradient", jax.grad(lambda w, x: annotated(w, x)[1].sum()), (on(None, "y"), on("x"))),
                               ("mapped", mapped, None), ("mapped gradient", jax.grad(lambda w, x: mapped(w, x)[0].sum()), None)):
        jitted = jax.jit(f, in_shardings=shardings, keep_unused=True) if shardings else jax.jit(f, keep_unused=True)
        expected = jitted(*args)
        compare(f"{name} over {shape}", jitted.lower(*args).as_text().encode(), args, expected, str(devices))
        if shardings:  # without that many devices, the function takes whole arrays
            compare(f"{name} on three devices", jitted.lower(*args).as_text().encode(), args, expected, "3")
        # Reads the file of jax.export and, except for per-device programs, the form of the partitioner before Shardy.
        for shardy in (True, False) if shardings else (True,):
            jax.config.update("jax_use_shardy_partitioner", shardy)
            e = export.export(jax.jit(f, in_shardings=shardings, keep_unused=True) if shardings else jax.jit(f, keep_unused=True))(*args)
            for form, data in {"text": e.mlir_module().encode(), "file": bytes(e.serialize())}.items():
                compare(f"{name} exported over {shape}, {form}, {'shardy' if shardy else 'tiles'}", data, args, expected, str(devices))
        jax.config.update("jax_use_shardy_partitioner", True)
model_runs.finish("of any size and sharded", 180)
