"""Collectives of several devices, and programs of whole arrays over meshes, in JAX."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_row import SPLIT, WHOLE, bound, bound_tree, mapped, normal, on, row

# --- collectives, 16 MB a device
EACH = 4 * 1024 * 1024


def collective(name, shape, f, whole, out=SPLIT, **more):
    mapped(name, f, lambda: normal(0, shape), whole=whole, out=out, **more)


collective("psum", (4, EACH), lambda x: lax.psum(x, "i"), lambda x: x.sum(0), WHOLE)
collective("all_gather", (4, EACH), lambda x: lax.all_gather(x, "i"), lambda x: x, WHOLE)
collective("psum_scatter", (4, 4, EACH // 4), lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0))
collective("all_to_all", (4, 4, EACH // 4), lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: x.swapaxes(0, 1))
collective("ppermute", (4, EACH), lambda x: lax.ppermute(x + 1, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
           lambda x: jnp.roll(x + 1, 1, 0))


def collectives_by_size(size, each, devices):
    """For devices of several processes. What a device gives is cut into as many parts as there are devices, where parts go to them."""
    whole, parts = (devices, each), (devices, devices, each // devices)
    ring = [(d, (d + 1) % devices) for d in range(devices)]

    def add(name, *rest):
        collective(f"{name}/{size}/{devices}", *rest, devices=devices)

    add("psum", whole, lambda x: lax.psum(x, "i"), lambda x: x.sum(0), WHOLE)
    add("all_gather", whole, lambda x: lax.all_gather(x, "i"), lambda x: x, WHOLE)
    add("psum_scatter", parts, lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0))
    add("all_to_all", parts, lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: x.swapaxes(0, 1))
    add("ppermute", whole, lambda x: lax.ppermute(x + 1, "i", ring), lambda x: jnp.roll(x + 1, 1, 0))


for devices in (4, 8):
    for size, each in (("1KB", 256), ("1MB", 256 * 1024), ("16MB", EACH)):
        collectives_by_size(size, each, devices)

mapped("psum_100", lambda t: lax.psum(t, "i"), lambda: [normal(i, (4, 1000)) for i in range(100)],
       whole=lambda t: [x.sum(0) for x in t], out=WHOLE, wait=bound_tree)


def chain_of_sums(x):
    for i in range(100):
        x = lax.psum(x, "i") * 0.25 + float(i)
    return x


# As a program of whole arrays this is a chain of multiplications, since a sum of equal rows needs no collective.
collective("psum_chain", (4, 1000), chain_of_sums, None, forms=("pmap", "shard_map"))


# --- whole arrays over meshes
WAYS = {"whole": ((), (), ()), "rows": (("x",), (), ("x",)), "columns": ((), (None, "x"), (None, "x")),
        "contracted": ((None, "x"), ("x",), ()), "grid": (("x",), (None, "y"), ("x", "y"))}


def product(way, n, devices, form):
    at = on((devices // 2, 2), ("x", "y")) if way == "grid" else on((devices,), ("x",))
    a, b, out = (at(*spec) for spec in WAYS[way])

    def body(a, b):
        return lax.psum(a @ b, "x") if way == "contracted" else a @ b

    f = jax.jit(jnp.dot, out_shardings=out) if form == "jit" else jax.jit(
        jax.shard_map(body, mesh=out.mesh, in_specs=(a.spec, b.spec), out_specs=out.spec, check_vma=False))
    return bound(f, *jax.block_until_ready([jax.device_put(normal(0, (n, n)), a), jax.device_put(normal(1, (n, n)), b)]))


for way in WAYS:
    for n in (512, 2048):
        for devices in (4, 8):
            for form in ("jit", "shard_map"):
                row(f"sharded_matmul_{way}/{n}/{devices}@{form}")(
                    lambda way=way, n=n, devices=devices, form=form: product(way, n, devices, form))


def reshard(f):
    at = on((4,), ("x",))
    return bound(f(at(None, "x")), jax.block_until_ready(jax.device_put(normal(0, (4096, 4096)), at("x"))))


row("reshard/4@jit")(lambda: reshard(lambda to: jax.jit(lambda x: x, out_shardings=to)))
row("reshard/4@put")(lambda: reshard(lambda to: lambda x: jax.device_put(x, to)))
row("sharded_plus_one@jit")(lambda: bound(jax.jit(lambda x: x + 1), jax.device_put(jnp.zeros((4, 8)), on((4,), ("x",))("x"))))
