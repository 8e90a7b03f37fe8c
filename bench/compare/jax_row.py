"""How a row of rows_bench is made in JAX: its name, its data, and its form over several devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = {}
SPLIT, WHOLE = PartitionSpec("i"), PartitionSpec()
platform = None  # the devices' platform; JAX's default one without it


def devices_of(n):
    """The first n devices of the platform."""
    return jax.devices(platform)[:n]


def pmapped(f, n, **more):
    """pmap of f over the first n devices; of JAX's default platform pmap takes those of all processes itself."""
    return jax.pmap(f, devices=devices_of(n) if platform else None, **more)


def row(name):
    """Registers a function that makes the data and gives one call, its results waited for."""

    def register(make):
        ROWS[name] = make
        return make

    return register


def normal(seed, shape):
    return jax.block_until_ready(jax.random.normal(jax.random.key(seed), shape))


def integers(seed, shape, below):
    return jax.block_until_ready(jax.random.randint(jax.random.key(seed), shape, 0, below))


def bound(f, *args):
    """The same for a function whose result is one array."""
    return lambda: f(*args).block_until_ready()


def bound_tree(f, *args):
    return lambda: jax.block_until_ready(f(*args))


def spread(x):
    """Places one row of x on each device, as pmap places its results."""
    return jax.block_until_ready(pmapped(lambda r: r, len(x))(x))


def placed(devices, spec):
    return NamedSharding(Mesh(np.array(devices_of(devices)), ("i",)), spec)


def mapped(name, f, *data, devices=4, whole, out=SPLIT, specs=None, forms=("pmap", "jit", "shard_map"), wait=bound):
    """`f` runs once a device, on a row of each argument that is split; `whole` is the same of whole arrays, as users of jit write it.
    `data` are functions that make the arguments, by default all split; what `out` says is whole is the same on all devices."""
    specs = specs or (SPLIT,) * len(data)

    def by_pmap():
        def laid(x, spec):
            return spread(x if spec == SPLIT else jnp.broadcast_to(x, (devices,) + x.shape))

        return wait(pmapped(f, devices, axis_name="i"), *(jax.tree.map(lambda x: laid(x, s), d()) for d, s in zip(data, specs)))

    def arguments():
        return jax.block_until_ready([jax.device_put(d(), placed(devices, s)) for d, s in zip(data, specs)])

    def by_jit():
        return wait(jax.jit(whole, out_shardings=placed(devices, out)), *arguments())

    def by_shard_map():
        def body(*args):
            rows = [jax.tree.map(lambda x: x[0], a) if s == SPLIT else a for a, s in zip(args, specs)]
            return jax.tree.map(lambda y: y[None] if out == SPLIT else y, f(*rows))

        mesh = placed(devices, out).mesh
        return wait(jax.jit(jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False)), *arguments())

    for form, make in zip(("pmap", "jit", "shard_map"), (by_pmap, by_jit, by_shard_map)):
        if form in forms:
            row(f"{name}@{form}")(make)


def on(sizes, names):
    """A mesh of the first devices, as a function from specs to shardings."""
    mesh = Mesh(np.array(devices_of(np.prod(sizes))).reshape(sizes), names)
    return lambda *spec: NamedSharding(mesh, PartitionSpec(*spec))
