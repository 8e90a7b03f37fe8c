"""Orbax's side of checkpoints.py: a state of some arrays over 8 virtual devices is saved and restored.

    python jax_checkpoints.py FOLDER [MIB] [ARRAYS]

Prints a line a measurement, as bench/checkpoint_bench.cc does, for each form of files that Orbax has.
"""

import os
import pathlib
import shutil
import statistics
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROUNDS = 5
FORMS = {"OCDBT": {"use_ocdbt": True}, "OCDBT, zarr3": {"use_ocdbt": True, "use_zarr3": True}, "a file an array": {"use_ocdbt": False}}


def main():
    folder = pathlib.Path(sys.argv[1]).absolute() / "orbax_bench"
    mib = float(sys.argv[2]) if len(sys.argv) > 2 else 1024.0
    arrays = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    rows = int(mib * 2**20 / arrays / 4 / 1024) // 8 * 8
    mesh = Mesh(jax.devices(), ("i",))
    sharding = NamedSharding(mesh, PartitionSpec("i"))
    keys = [jax.random.key(i) for i in range(arrays)]
    state = [jax.device_put(jax.random.normal(k, (rows, 1024)), sharding) for k in keys]
    step = jax.jit(lambda s: [x * 0.5 for x in s])
    state = jax.block_until_ready(step(state))
    wanted = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in state]

    for form, options in FORMS.items():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        times = {"save": [], "save_async, to its return": [], "save_async, with a step": [], "restore": []}
        handler = ocp.PyTreeCheckpointHandler(**options)
        with ocp.Checkpointer(handler) as saver:
            for i in range(ROUNDS):
                begin = time.perf_counter()
                saver.save(folder / f"save{i}", state)
                times["save"].append(time.perf_counter() - begin)
                if i + 1 < ROUNDS:
                    shutil.rmtree(folder / f"save{i}")
            args = ocp.checkpoint_utils.construct_restore_args(wanted)
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                jax.block_until_ready(saver.restore(folder / f"save{ROUNDS - 1}", item=wanted, restore_args=args))
                times["restore"].append(time.perf_counter() - begin)
        shutil.rmtree(folder / f"save{ROUNDS - 1}")
        with ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler(**options)) as saver:
            for i in range(ROUNDS):
                begin = time.perf_counter()
                saver.save(folder / f"async{i}", state)
                times["save_async, to its return"].append(time.perf_counter() - begin)
                jax.block_until_ready(step(state))
                saver.wait_until_finished()
                times["save_async, with a step"].append(time.perf_counter() - begin)
                shutil.rmtree(folder / f"async{i}")
        for what, seconds in times.items():
            print(f"{form}: {what:<26} {statistics.median(seconds):8.4f} s", flush=True)
    shutil.rmtree(folder, ignore_errors=True)


main()
