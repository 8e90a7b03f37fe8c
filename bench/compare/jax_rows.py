"""The rows of rows_bench in JAX, under the same names; requests as serving.py has them.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python jax_rows.py --serve

A row over several devices has up to three forms, named behind it: ROW@pmap; ROW@jit, a program of whole arrays whose arguments are
sharded by NamedSharding; ROW@shard_map. Arguments lie on their devices before the clock starts, and what Tessera's row donates is
donated.
"""

import functools
import pathlib

import jax
import jax.numpy as jnp
from jax import export

import jax_arrays  # noqa: F401  registers its rows, as the next ones do
import jax_collectives  # noqa: F401
import jax_ops  # noqa: F401
import jax_training  # noqa: F401
import serving
from jax_row import ROWS, bound_tree, row


def exported(name):
    """A model of examples/20_from_jax, read from its file, with weights that its `init` drew."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "examples" / "20_from_jax" / "models"
    init, function = (export.deserialize(bytearray((folder / f"{n}.bin").read_bytes())) for n in (name + "_init", name))
    weights = init.call(jax.random.key_data(jax.random.key(0)))
    arguments = jax.tree.unflatten(function.in_tree, function.in_avals)[0]
    rest = [jnp.zeros([n if isinstance(n, int) else 8 for n in a.shape], a.dtype) for a in arguments[1:]]
    return bound_tree(jax.jit(function.call), weights, *jax.block_until_ready(rest))


for model in ("resnet", "transformer", "diffusion"):
    row(f"from_jax/{model}")(functools.partial(exported, model))


if __name__ == "__main__":
    serving.main(lambda name: ROWS[name]())
