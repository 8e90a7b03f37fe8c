"""Traces of jax.profiler: what Tessera did is in them, with the scopes and lines of the program."""
import gzip
import json
import pathlib
import tempfile
import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax.profiler import ProfileData

import check

PLANES = "/device:CUSTOM:Tessera "


@jax.jit
def network(x):
    with jax.named_scope("model"):
        with jax.named_scope("layer_0"):
            x = jnp.tanh(x @ x)
        return jnp.sort(x, axis=0)


LINE = network.__wrapped__.__code__.co_firstlineno


def traced(calls):
    """Tessera's events of `calls` calls as (plane, line, name, begin, end, statistics), and the names in the trace for viewers."""
    x = jnp.ones((40, 40))
    network(x).block_until_ready()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(calls):
                network(x).block_until_ready()
        files = list(pathlib.Path(folder).glob("plugins/profile/*/*"))
        events = [(plane.name.removeprefix(PLANES), line.name, e.name, e.start_ns, e.end_ns, dict(e.stats))
                  for f in files if f.name.endswith(".xplane.pb") for plane in ProfileData.from_file(str(f)).planes
                  if plane.name.startswith(PLANES) for line in plane.lines for e in line.events]
        viewers = {e.get("name") for f in files if f.name.endswith(".trace.json.gz")
                   for e in json.loads(gzip.decompress(f.read_bytes()))["traceEvents"]}
    return events, viewers


class Traces(unittest.TestCase):
    def test_kernels(self):
        for calls in (3, 2):  # two traces of one process, each with its own events
            events, viewers = traced(calls)
            kernels = [e for e in events if e[0] == "devices"]
            names = ["model/layer_0/dot_general", "model/layer_0/tanh", "model/sort"]
            check.equal([e[2] for e in kernels], names * calls)
            check.equal({e[1] for e in kernels}, {"all devices"})
            check.true(set(names) <= viewers, f"{names} are in the trace for viewers: {viewers}")
            for (_, _, name, begin, end, stats), line in zip(kernels, [4, 4, 5] * calls):
                check.true(begin <= end, f"{name} begins at {begin} and ends at {end}")
                check.equal(stats, {"kind": "kernel", "scope": name.rpartition("/")[0], "source": f"{__file__}:{LINE + line}"}, name)
            check.equal([e[3] for e in kernels], sorted(e[3] for e in kernels), "the order of kernels")
            host = [(name, stats["kind"]) for plane, _, name, _, _, stats in events if plane == "host"]
            check.equal(host.count(("jit_network", "call")), calls, host)

    def test_nothing_is_kept_outside(self):
        x = jnp.ones((8, 8))
        for _ in range(5):
            network(x).block_until_ready()
        check.equal(len([e for e in traced(1)[0] if e[0] == "devices"]), 3)

    def test_values_stay(self):
        x = jnp.asarray(np.random.default_rng(0).standard_normal((40, 40), np.float32))
        want = np.asarray(network(x))
        with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
            check.equal(network(x), want)

    def test_a_second_one_at_once_is_refused(self):
        with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
            check.raises(RuntimeError, "Only one profile may be run at a time", jax.profiler.start_trace, folder)


if __name__ == "__main__":
    check.main()
