"""Orbax's side of checkpoints.py: a state of some arrays over 8 virtual devices is saved and restored.

    python jax_checkpoints.py FOLDER [MIB] [ARRAYS]
    python jax_checkpoints.py --join COORDINATOR PROCESSES PROCESS DEVICES FOLDER [MIB] [ARRAYS]

The second is one of several processes, joined by jax.distributed and Gloo; DEVICES are those of all of them together. Process 0 prints a
line a measurement, as bench/checkpoint_bench.cc does, for each form of files that Orbax has.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import orbax.checkpoint as ocp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROUNDS, DEVICES = 5, 8
FORMS = {"OCDBT": {"use_ocdbt": True}, "OCDBT, zarr3": {"use_ocdbt": True, "use_zarr3": True}, "a file an array": {"use_ocdbt": False}}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--join", nargs=4, default=["", "1", "0", str(DEVICES)])
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("mib", type=float, nargs="?", default=1024.0)
    p.add_argument("arrays", type=int, nargs="?", default=16)
    return p.parse_args()


def begin_together():
    """The time at which all processes have arrived."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices("begin")
    return time.perf_counter()


def same(x, y):
    """Whether two arrays are equal on this process's devices."""
    return all((a.data == b.data).all() for a, b in zip(x.addressable_shards, y.addressable_shards, strict=True))


def remove(path):
    """The first process removes the folder, before any process measures again."""
    if jax.process_index() == 0:
        shutil.rmtree(path, ignore_errors=True)


def main():
    args = parse()
    coordinator, processes, process, devices = args.join[0], *map(int, args.join[1:])
    jax.config.update("jax_num_cpu_devices", devices // processes)
    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(coordinator, processes, process)
    folder = args.folder.absolute() / "orbax_bench"
    rows = int(args.mib * 2**20 / args.arrays / 4 / 1024) // 8 * 8
    sharding = NamedSharding(Mesh(jax.devices(), ("i",)), PartitionSpec("i"))
    drawn = jax.jit(lambda i: jax.random.normal(jax.random.key(i), (rows, 1024)), out_shardings=sharding)
    step = jax.jit(lambda s: [x * 0.5 for x in s])
    state = jax.block_until_ready(step([drawn(i) for i in range(args.arrays)]))
    wanted = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in state]

    for form, options in FORMS.items():
        remove(folder)
        begin_together()
        folder.mkdir(parents=True, exist_ok=True)
        times = {"save": [], "save_async, to its return": [], "save_async, with a step": [], "restore": []}
        handler = ocp.PyTreeCheckpointHandler(**options)
        with ocp.Checkpointer(handler) as saver:
            for i in range(ROUNDS):
                begin = begin_together()
                saver.save(folder / f"save{i}", state)
                times["save"].append(time.perf_counter() - begin)
                if i + 1 < ROUNDS:
                    remove(folder / f"save{i}")
            arguments = ocp.checkpoint_utils.construct_restore_args(wanted)
            for _ in range(ROUNDS):
                restored = None
                begin = begin_together()
                restored = jax.block_until_ready(saver.restore(folder / f"save{ROUNDS - 1}", item=wanted, restore_args=arguments))
                times["restore"].append(time.perf_counter() - begin)
            assert all(same(x, y) for x, y in zip(state, restored, strict=True)), form
            del restored
        begin_together()
        remove(folder / f"save{ROUNDS - 1}")
        with ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler(**options)) as saver:
            for i in range(ROUNDS):
                begin = begin_together()
                saver.save(folder / f"async{i}", state)
                times["save_async, to its return"].append(time.perf_counter() - begin)
                jax.block_until_ready(step(state))
                saver.wait_until_finished()
                times["save_async, with a step"].append(time.perf_counter() - begin)
                remove(folder / f"async{i}")
        for what, seconds in times.items() if process == 0 else ():
            print(f"{form}: {what:<26} {statistics.median(seconds):8.4f} s", flush=True)
    begin_together()
    remove(folder)


main()
