"""Writes the files of this folder: functions that JAX exported, as text, as a portable artifact and as jax.export's file.

pip install "jax==0.10.2" flatbuffers; python tests/stablehlo/exported/make.py [NAME...]
"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxlib.mlir.dialects import stablehlo
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders of the machine that makes them
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


def factors(a, b):
    """Values that do not depend on signs or phases that a library chooses."""
    definite = a @ a.T + 4 * jnp.eye(4)
    z = a + 1j * b
    q, r = jnp.linalg.qr(a)
    tall_q, tall_r = jnp.linalg.qr(a[:, :2], mode="complete")
    wide_q, wide_r = jnp.linalg.qr(z[:3])
    u, s, vh = jnp.linalg.svd(a[:3], full_matrices=False)
    w, v = jnp.linalg.eigh(definite)
    e, x = jnp.linalg.eig(a)
    return (jnp.linalg.cholesky(definite), q @ r, tall_q @ tall_r, wide_q @ wide_r, (u * s) @ vh, jnp.linalg.svd(b, compute_uv=False),
            (v * w) @ v.T, jnp.linalg.eigvalsh(definite), a @ x - x * e, jnp.linalg.solve(a, b), jnp.linalg.inv(z), jnp.linalg.det(a),
            jax.scipy.linalg.solve_triangular(definite, b, lower=True, trans=1), jnp.fft.rfft(b), jnp.fft.ifft2(z))


def older_factors(a, b):
    """The same in the form of JAX 0.4: pip install "jax==0.4.30" "numpy<2"."""
    definite = a @ a.T + 4 * jnp.eye(4)
    z = a + 1j * b
    q, r = jnp.linalg.qr(a)
    tall_q, tall_r = jnp.linalg.qr(a[:, :2], mode="complete")
    wide_q, wide_r = jnp.linalg.qr(z[:3])
    u, s, vh = jnp.linalg.svd(a[:3], full_matrices=False)
    w, v = jnp.linalg.eigh(definite)
    return (jnp.linalg.cholesky(definite), q @ r, tall_q @ tall_r, wide_q @ wide_r, (u * s) @ vh, jnp.linalg.svd(b, compute_uv=False),
            (v * w) @ v.T, jnp.linalg.eigvalsh(definite), jnp.linalg.solve(a, b), jnp.linalg.inv(z), jnp.linalg.det(a),
            jax.scipy.linalg.solve_triangular(definite, b, lower=True, trans=1))


FUNCTIONS = {
    "dense": (dense, [((4, 3), f32), ((3, 5), f32)], None),
    "loop": (loop, [((6, 3), f32)], None),
    "constants": (constants, [((6,), f32)], None),
    "scattered": (scattered, [((6,), f32)], None),
    "convolved": (convolved, [((2, 8, 7, 3), f32), ((3, 2, 3, 4), f32)], None),
    "factors": (factors, [((4, 4), f32), ((4, 4), f32)], None),
    "factors_0_4": (older_factors, [((4, 4), f32), ((4, 4), f32)], None),
    "unused": (unused, [((2, 3), f32), ((4,), i32), ((), f32)], None),
    "unused_two": (lambda a, b, c, d: b * 2, [((2, 3), f32), ((3,), f32), ((4,), i32), ((), f32)], None),
    "platforms": (lambda x: jnp.sin(x) * 2, [((3,), f32)], ["tpu", "cpu"]),
    "only_tpu": (lambda x: jnp.sin(x) * 2, [((3,), f32)], ["tpu", "cuda"]),
}

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def on(*spec):
    return NamedSharding(mesh, P(*spec))


def annotated(a, b):
    c = jax.lax.with_sharding_constraint(a @ b, on("y", None))
    return c * 2, jnp.tanh(c).sum(0)


def mapped(a, b):
    c, s = annotated(a, b)
    return jax.shard_map(lambda c: jax.lax.psum(c, "x"), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, "y"))(c), s


# The annotations are those of Shardy, and those of the partitioner before it.
SHARDED = {"sharded": (annotated, True), "sharded_by_tiles": (annotated, False), "mapped": (mapped, True)}
for name, (f, _) in SHARDED.items():
    FUNCTIONS[name] = (jax.jit(f, in_shardings=(on("x", "y"), on("y")), out_shardings=(on("x"), on("y"))), [((8, 4), f32), ((4, 8), f32)], None)

for name, (f, types, platforms) in FUNCTIONS.items():
    if name not in sys.argv[1:] if sys.argv[1:] else name == "factors_0_4":
        continue
    if hasattr(jax.config, "jax_use_shardy_partitioner"):
        jax.config.update("jax_use_shardy_partitioner", SHARDED.get(name, (f, True))[1])
    exported = export.export(f if name in SHARDED else jax.jit(f), platforms=platforms)(*[jax.ShapeDtypeStruct(s, t) for s, t in types])
    with open(name + ".jaxexport", "wb") as out:
        out.write(exported.serialize())
    if platforms is None and not name.startswith(("unused", "factors_0_4")):
        with open(name + ".mlirbc", "wb") as out:
            out.write(exported.mlir_module_serialized)
        text = "\n".join(line for line in exported.mlir_module().splitlines() if not line.startswith("#loc"))
        with open(name + ".mlir", "w") as out:
            out.write(text + "\n")
        if name == "convolved":  # in the oldest version, whose lists are tensors
            with open(name + "_0_9.mlirbc", "wb") as out:
                out.write(stablehlo.serialize_portable_artifact_str(exported.mlir_module(), "0.9.0"))

# JAX does not write these: groups by axes of a mesh and by a part of one, and collectives that are started in one place and waited for in another.
MODULES = {
    "grouped": (8, "1.17.0", '''%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = #stablehlo.mesh<axes = [<name = "x", size = 4>, <name = "y", size = 2>], device_ids = dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>>,
      axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "y">]>}> : (tensor<2xi64>) -> tensor<8xi64>'''),
    "begun": (4, "1.17.0", '''%f = "stablehlo.async_start"(%x) ({
      ^bb0(%a: tensor<2xi64>):
        %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>
          : (tensor<2xi64>) -> tensor<8xi64>
        stablehlo.return %g : tensor<8xi64>
    }) : (tensor<2xi64>) -> !stablehlo.future<tensor<8xi64>>
    %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8xi64>>) -> tensor<8xi64>'''),
    "rooted": (4, "1.22.0", '''%root = stablehlo.constant dense<2> : tensor<1xi32>
    %b = "stablehlo.collective_broadcast"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>
      : (tensor<2xi64>, tensor<1xi32>) -> tensor<2xi64>
    %s = stablehlo.add %b, %x : tensor<2xi64>
    %c = "stablehlo.collective_reduce"(%s) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
      ^bb0(%a: tensor<i64>, %d: tensor<i64>):
        %g = stablehlo.add %a, %d : tensor<i64>
        stablehlo.return %g : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    %0 = "stablehlo.all_gather"(%c) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>
      : (tensor<2xi64>) -> tensor<8xi64>'''),
}
numbers = lambda version: tuple(map(int, version.split(".")))
for name, (replicas, version, body) in MODULES.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    if numbers(stablehlo.get_current_version()) < numbers(version):
        print(f"{name} takes a jaxlib with StableHLO {version}")
        continue
    text = f'''module @m attributes {{mhlo.num_replicas = {replicas} : i32}} {{
  func.func public @main(%x: tensor<2xi64>) -> tensor<8xi64> {{
    {body}
    return %0 : tensor<8xi64>
  }}
}}'''
    with open(name + ".mlirbc", "wb") as out:
        out.write(stablehlo.serialize_portable_artifact_str(text, version))

# Booleans that are not all equal are stored as bits: constants of up to a byte and beyond, and the attribute that reverses a window.
if "booleans" in sys.argv[1:] or not sys.argv[1:]:
    drawn = {n: [(k * k + k // 3) % 2 == 0 for k in range(n)] for n in (2, 3, 4, 7, 8, 9, 20)}
    same = {2: True, 3: False, 8: True, 9: True}
    lists = [(n, str(v).lower()) for n, v in drawn.items()] + [(n, str(v).lower()) for n, v in same.items()]
    lines = [f"%b{i} = stablehlo.constant dense<{v}> : tensor<{n}xi1>" for i, (n, v) in enumerate(lists)]
    types = ", ".join(["tensor<1x3x3x1xf32>"] + [f"tensor<{n}xi1>" for n, _ in lists])
    text = f"""module @booleans {{
  func.func public @main(%x: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>) -> ({types}) {{
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{reverse = [true, false]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
    {(chr(10) + "    ").join(lines)}
    return {", ".join(["%y"] + [f"%b{i}" for i in range(len(lists))])} : {types}
  }}
}}
"""
    with open("booleans.mlir", "w") as out:
        out.write(text)
    with open("booleans.mlirbc", "wb") as out:
        out.write(stablehlo.serialize_portable_artifact_str(text, "1.17.0"))
