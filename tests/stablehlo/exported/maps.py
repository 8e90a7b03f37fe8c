"""Writes maps.mlir: programs for several devices that JAX exported, as text, each with arguments and JAX's results for them.

pip install jax; python tests/stablehlo/exported/maps.py

Each module follows its name, the partitioner that it was written for, its arguments and its results (dtype, shape, elements).
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

os.chdir(os.path.dirname(os.path.abspath(__file__)))
devices = np.array(jax.devices())
line = Mesh(devices, ("x",))
plane = Mesh(devices.reshape(2, 4), ("x", "y"))
space = Mesh(devices.reshape(2, 2, 2), ("x", "y", "z"))
a = np.arange(32, dtype=np.float32).reshape(8, 4) / 8
b = np.arange(16, dtype=np.float32).reshape(4, 4) / 4 - 1
v = np.arange(8, dtype=np.float32)
around = [(i, (i + 1) % 8) for i in range(8)]
cases = {}


def case(*arguments):
    def add(function):
        cases[function.__name__] = function, arguments
        return function
    return add


def mapped(body, mesh, in_specs, out_specs, **options):
    return jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


@case(a)
def reductions(a):
    return mapped(lambda a: (lax.psum(a, "x"), lax.pmax(a, "x"), lax.pmin(a, "x"), lax.pmean(a, "x")), line, P("x"), P())(a)


@case(a)
def gather_tiled(a):
    return mapped(lambda a: lax.all_gather(a, "y", tiled=True) * 2, plane, P("y", "x"), P(None, ("x", "y")), check_vma=False)(a)


@case(a)
def gather_untiled(a):
    return mapped(lambda a: lax.all_gather(a, "y", axis=1)[:, 0] + a, plane, P("y", "x"), P("y", "x"))(a)


@case(a)
def scatter_tiled(a):
    return mapped(lambda a: lax.psum_scatter(a, "x", scatter_dimension=0, tiled=True), plane, P(None, "y"), P("x", "y"), check_vma=False)(a)


@case(a)
def scatter_untiled(a):
    return mapped(lambda a: lax.psum_scatter(a, "y", scatter_dimension=1), plane, P("x"), P(("x", "y")), check_vma=False)(a)


@case(a)
def exchange_tiled(a):
    return mapped(lambda a: lax.all_to_all(a, "y", 1, 0, tiled=True), plane, P(("x", "y")), P(("x", "y")))(a)


@case(a)
def exchange_untiled(a):
    return mapped(lambda a: lax.all_to_all(a.reshape(1, 4), "y", 1, 0), plane, P(("x", "y")), P(("x", "y")))(a)


@case(v)
def permute(v):
    return mapped(lambda v: lax.ppermute(v, "x", around), line, P("x"), P("x"))(v)


@case(a)
def permute_some(a):
    return mapped(lambda a: lax.ppermute(a, "y", [(0, 1), (1, 2), (2, 0)]), plane, P("y", "x"), P("y", "x"))(a)


@case(v)
def places(v):
    return mapped(lambda v: v + lax.axis_index("x") * 100 + lax.axis_index(("y", "x")), plane, P(("x", "y")), P(("x", "y")))(v)


@case(a, b)
def some_axes(a, b):
    return mapped(lambda a, b: lax.psum(a @ b, "y") * 2, plane, (P(None, "y"), P("y", None)), P(), axis_names={"y"})(a, b)


@case(a, b)
def some_axes_constrained(a, b):
    a = lax.with_sharding_constraint(a, NamedSharding(plane, P(None, "y")))
    return mapped(lambda a, b: jnp.tanh(a @ b) + lax.axis_index("x"), plane, (P("x"), P()), P("x"), axis_names={"x"})(a, b).sum(1)


@case(a)
def two_of_three_axes(a):
    return mapped(lambda a: lax.psum(a, "z") + lax.axis_index("x"), space, P(("x", "z")), P("x"), axis_names={"x", "z"})(a)


@case(a)
def nested(a):
    def inner(a):
        return lax.psum(a, "y") + lax.axis_index("y")
    def outer(a):
        return jax.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(a) * (1 + lax.axis_index("x"))
    return mapped(outer, plane, P("x"), P("x"), axis_names={"x"})(a)


@case(a)
def nested_sum_of_all(a):
    def outer(a):
        return jax.shard_map(lambda a: lax.psum(a, ("x", "y")), in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})(a)
    return mapped(outer, plane, P("x"), P(), axis_names={"x"})(a)


@case(a, b)
def grad_inside(a, b):
    def gradient(a, b):
        return jax.grad(lambda b: jnp.sum(jnp.sin(a @ b) ** 2))(b)
    return mapped(lambda a, b: lax.psum(gradient(a, b), "x"), line, (P("x"), P()), P(), check_vma=False)(a, b)


@case(a, b)
def grad_outside(a, b):
    def loss(b):
        return mapped(lambda a, b: lax.pmean(jnp.sum(jnp.tanh(a @ b)), "x"), line, (P("x"), P()), P())(a, b)
    return jax.value_and_grad(loss)(b)


@case(a, b)
def grad_of_some_axes(a, b):
    def loss(b):
        return mapped(lambda a, b: lax.psum(jnp.sum(jnp.sin(a @ b)), "x"), plane, (P("x"), P()), P(), axis_names={"x"})(a, b)
    return jax.grad(loss)(b)


@case(a, b)
def loss_along_some_axes(a, b):
    return mapped(lambda a, b: lax.psum(jnp.sum(jnp.sin(a @ b)), "x"), plane, (P("x"), P()), P(), axis_names={"x"})(a, b)


@case(v)
def unchecked(v):
    return mapped(lambda v: v * 2 + 1, line, P("x"), P(), check_vma=False)(v)


@case(a)
def unchecked_along_one_axis(a):
    return mapped(lambda a: a * 2, plane, P("x", "y"), P("x"), check_vma=False)(a)


@case(a)
def two_maps(a):
    c = jnp.cos(mapped(lambda a: lax.psum(a, "y"), plane, P("x", "y"), P("x"))(a)) + 1
    return mapped(lambda c: lax.all_gather(c, "x", tiled=True), plane, P("x"), P("x"), check_vma=False)(c)


@case(v)
def scan(v):
    def step(c, _):
        c = lax.ppermute(c, "x", around) + 1
        return c, c.sum()
    def body(v):
        c, sums = lax.scan(step, v, None, length=3)
        return c, sums.reshape(1, 3)
    return mapped(body, line, P("x"), P("x"))(v)


@case(v)
def groups(v):
    return mapped(lambda v: lax.psum(v, "x", axis_index_groups=[[0, 2, 5, 7], [1, 3, 4, 6]]), line, P("x"), P("x"), check_vma=False)(v)


@case()
def no_arguments():
    return mapped(lambda: lax.axis_index("x").reshape(1) * 3, line, (), P("x"))()


def text_of(x):
    x = np.asarray(x)
    return f"{x.dtype}[{','.join(map(str, x.shape))}] " + " ".join(repr(e) for e in x.ravel().tolist())


with open("maps.mlir", "w") as file:
    for partitioner in ("shardy", "gspmd"):
        jax.config.update("jax_use_shardy_partitioner", partitioner == "shardy")
        for name, (function, arguments) in cases.items():
            compiled = jax.jit(lambda *arguments: function(*arguments))
            file.write(f"// {partitioner}: {name}\n")
            for x in arguments:
                file.write(f"// argument: {text_of(x)}\n")
            for x in jax.tree.leaves(compiled(*arguments)):
                file.write(f"// result: {text_of(x)}\n")
            file.write(compiled.lower(*arguments).as_text().rstrip() + "\n// -----\n")
