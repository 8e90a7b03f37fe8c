"""Runs modules that JAX exports with the command tessera, and compares the results with JAX's. Scripts that import this are skipped
without JAX (exit code 77)."""
import os
import pathlib
import subprocess
import sys
import tempfile


def skip(why):
    print(f"skipped, 0 checked: {why}")
    sys.exit(77)


try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as e:
    skip(e)

jax.config.update("jax_platforms", "cpu")
program = sys.argv[1]
work = pathlib.Path(tempfile.mkdtemp())
checked = 0


def run(module, arguments, devices=None):
    """Runs a module given as bytes. The results are files in `work`."""
    (work / "f").write_bytes(module)
    words = []
    for i, x in enumerate(arguments):
        np.save(work / f"in{i}.npy", x)
        words += ["--arg", str(work / f"in{i}.npy")]
    environment = os.environ if devices is None else {**os.environ, "TESSERA_DEVICES": devices}
    return subprocess.run([program, "run", str(work / "f"), *words, "--out", str(work / "out")], capture_output=True, text=True, env=environment)


def compare(name, module, arguments, expected, devices=None, rtol=3e-5, atol=1e-5):
    """Runs a module and compares its results with a tree of JAX's."""
    global checked
    r = run(module, arguments, devices)
    assert r.returncode == 0, f"{name}: {r.stdout}{r.stderr}"
    for k, want in enumerate(jax.tree.leaves(expected)):
        got, want = np.load(work / "out" / f"{k}.npy"), np.asarray(want)
        assert got.dtype == want.dtype and got.shape == want.shape, f"{name} result {k}: {got.dtype}{got.shape}, {want.dtype}{want.shape}"
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"{name} result {k}")
        checked += 1


def finish(what, least):
    print(f"{checked} results {what} are those of JAX")
    assert checked > least


def recurrent(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h.sum()
    return jax.lax.scan(step, jnp.zeros(xs.shape[1:]), xs)
