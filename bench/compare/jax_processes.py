"""The rows of jax_rows.py over the devices of several processes, joined by jax.distributed and Gloo.

    python jax_processes.py COORDINATOR PROCESSES PROCESS DEVICES --serve

Every process is given the same requests, in the protocol of serving.py, and makes the same calls; process 0 says how many, measures and
answers. DEVICES are those of all processes together. `--first ROW` runs a row once.
"""

import os
import statistics
import sys
import time

import jax

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Gloo prints to standard output
coordinator, processes, process, devices = sys.argv[1], *map(int, sys.argv[2:5])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.config.update("jax_num_cpu_devices", devices // processes)
jax.distributed.initialize(coordinator, processes, process)

import numpy as np  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402

import jax_rows  # noqa: E402
import serving  # noqa: E402

BATCHES = 8


def answer(*words):
    if process == 0:
        print(*words, file=answers, flush=True)


def elapsed(call, times):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - start


def time_calls(call, budget):
    """(wall, CPU) seconds of a call: the median over batches of calls that last about `budget` seconds together."""
    once = max(1e-7, min(elapsed(call, 1) for _ in range(3)))
    counts = max(1, int(budget / BATCHES / once)), min(max(3, int(budget / once)), BATCHES)
    batch, batches = map(int, multihost_utils.broadcast_one_to_all(np.array(counts, np.int32)))
    multihost_utils.sync_global_devices("time_calls")
    cpu = serving.cpu_seconds()
    wall = statistics.median([elapsed(call, batch) / batch for _ in range(batches)])
    return wall, (serving.cpu_seconds() - cpu) / (batch * batches)


def serve():
    current, calls = None, {}  # the forms of one row
    for line in sys.stdin:
        _, name, budget = line.split()
        try:
            if name.partition("@")[0] != current:
                calls = {}
                current = name.partition("@")[0]
            if name not in calls:
                call = jax_rows.ROWS[name]()
                call()
                call()
                calls[name] = call
            wall, cpu = time_calls(calls[name], float(budget))
            answer(f"ok {wall * 1e6:.4f} {cpu * 1e6:.4f}")
        except Exception as e:  # a row that the peer cannot run is reported
            answer("error", " ".join(str(e).split()) or type(e).__name__)


def once(name):
    call = jax_rows.ROWS[name]()
    answer(f"ok {elapsed(call, 1) * 1e6:.4f}")


if __name__ == "__main__":
    if sys.argv[5] == "--serve":
        serve()
    else:
        once(sys.argv[6])
