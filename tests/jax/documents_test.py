"""The Python cells of documents about parallel programs, run on Tessera and on jaxlib's CPU client with eight devices each.

Every cell must print the same on both, and fail on both in the same way or not at all. Times and the names of devices are left out of the
comparison, and floats may differ in their last digits, because sums are added in another order. The documents are not part of the project:
they lie in ../shared/seeds beside the checkout, and the test is skipped where that folder is not.

    documents_test.py               # the test
    documents_test.py --show        # also prints, for each cell, what it prints or how it fails
"""
import ast
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2].parent / "shared/seeds"
DEVICES = 8

# What a document takes for granted, by a part of its name: modules, data, and numbers of steps.
BEFORE = {
    "003_": """
import tempfile
from typing import Dict
import jax, jax.numpy as jnp, numpy as np, optax
from flax import nnx
images = np.random.default_rng(0).normal(size=(128, 32, 32, 3)).astype(np.float32)
labels = np.random.default_rng(1).integers(0, 10, 128)
data_loader = [{'image': images, 'label': labels}] * 2
num_steps = 3
""",
    "004_": """
import jax, numpy as np
meshes = []
class NamedMesh:
    def __init__(self, devices, names):
        self.mesh = jax.sharding.Mesh(np.array(devices), names)
    def __enter__(self):
        meshes.append(self.mesh)
    def __exit__(self, *_):
        meshes.pop()
    def __str__(self):
        return str(self.mesh)
class pjit:
    @staticmethod
    def pjit(f, in_axis_resources, out_axis_resources):
        placed = lambda spec: jax.sharding.NamedSharding(meshes[-1], spec)
        place = lambda tree: jax.tree.map(placed, tree, is_leaf=lambda x: isinstance(x, jax.sharding.PartitionSpec))
        return jax.jit(f, in_shardings=place(in_axis_resources), out_shardings=place(out_axis_resources))
""",
}
# Interfaces that JAX or Flax has removed since, with their successors.
SUCCESSORS = [
    ("from jax.experimental import pjit, PartitionSpec as P", "from jax.sharding import PartitionSpec as P"),
    ("from jax.experimental.maps import mesh", "mesh = NamedMesh"),
    ("nnx.Optimizer(model, optimizer)", "nnx.ModelAndOptimizer(model, optimizer, wrt=nnx.Param)"),
    ("state: nnx.Optimizer", "state"),
    ('"/tmp/jax-trace"', "tempfile.mkdtemp()"),
]
LEFT_OUT = [(r"\b(Cpu|Tessera)Device\(", "Device("), (r"\d+\.\d+s\b", "TIME"), (r"\d+\.\d+x\b", "RATIO"), (r"Best strategy: .*", "Best strategy"),
            (r" at 0x[0-9a-f]+", "")]
FLOAT = re.compile(r"(-?\d+\.\d*(?:e[+-]?\d+)?)")


def cells_of(text):
    """The cells between fences, or behind "In [n]:" up to the first line that is no Python, which is what the cell printed."""
    if "```python" in text:
        return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    return [longest_program(part) for part in re.split(r"^In \[\d+\]:\n", text, flags=re.M)[1:]]


def longest_program(text):
    lines = text.split("\n")
    for end in range(len(lines), 0, -1):
        if lines[end - 1].strip() or end == 1:
            with contextlib.suppress(SyntaxError):
                ast.parse("\n".join(lines[:end]))
                return "\n".join(lines[:end])
    return ""


def run(path):
    """Prints one line of JSON for each cell of a document: what it printed, and the error that ended it."""
    import numpy as np
    np.random.seed(0)
    space = {"__name__": "document"}
    exec(next((code for part, code in BEFORE.items() if part in path.name), ""), space)
    for cell in cells_of(path.read_text()):
        for old, new in SUCCESSORS:
            cell = cell.replace(old, new)
        printed, error = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(cell, path.name, "exec"), space)
            except Exception as e:
                error = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
        print(json.dumps({"printed": printed.getvalue(), "error": error}), flush=True)


def on(platforms, path):
    env = {**os.environ, "JAX_PLATFORMS": platforms, "JAX_TESSERA_DEVICES": str(DEVICES), "JAX_NUM_CPU_DEVICES": str(DEVICES)}
    env.pop("XLA_FLAGS", None)
    done = subprocess.run([sys.executable, __file__, "--run", path], env=env, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{path.name} on {platforms} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def plain(text):
    for pattern, new in LEFT_OUT:
        text = re.sub(pattern, new, text)
    return text


def last_digit(number):
    """The amount by which the number's last digit counts: 0.01 for 2.71."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def is_same(ours, theirs):
    """Whether texts are equal but for the last digits of floats. Sums that were cut in two ways may differ in more digits than a document
    allows on jaxlib alone."""
    return is_close(ours, theirs) or is_close(ours, theirs.replace("Results match: False", "Results match: True"))


def is_close(ours, theirs, rtol=2e-5, atol=2e-6):
    """Whether texts are equal but for the last digits of floats, and for blanks, with which arrays are aligned."""
    a, b = (FLOAT.split(plain(text)) for text in (ours, theirs))
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if i % 2 == 0 and x.split() != y.split():
            return False
        if i % 2 and abs(float(x) - float(y)) > atol + rtol * abs(float(y)) + 1.01 * last_digit(y):
            return False
    return True


def has_flax():
    return subprocess.run([sys.executable, "-c", "import flax, optax"], capture_output=True).returncode == 0


@unittest.skipUnless(FOLDER.is_dir(), f"there is no {FOLDER}")
class Documents(unittest.TestCase):
    def compare(self, number):
        path, = FOLDER.glob(f"{number:03}_*.txt")
        wanted = cells_of(path.read_text())
        ours, theirs = on("tessera,cpu", path), on("cpu", path)
        self.assertEqual((len(ours), len(theirs)), (len(wanted), len(wanted)))
        exact = failed = 0
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if "--show" in sys.argv:
                print(f"--- {path.name}, cell {i}\n{a['printed']}{a['error'] or ''}")
            exact += plain(a["printed"]) == plain(b["printed"])
            failed += b["error"] is not None
            with self.subTest(document=path.name, cell=i):
                self.assertEqual(a["error"], b["error"])
                self.assertTrue(is_same(a["printed"], b["printed"]), f"prints\n{a['printed']}and with jaxlib\n{b['printed']}")
        print(f"{path.name}: {len(wanted)} cells, {exact} print the same to the last digit; {failed} fail, on jaxlib too")
        return len(wanted)

    def test_pmap_basics(self):
        self.assertGreater(self.compare(0), 5)

    def test_single_host_sharding(self):
        self.assertGreater(self.compare(1), 5)

    def test_introduction_without_cells(self):
        self.assertEqual(self.compare(2), 0)

    @unittest.skipUnless(has_flax(), "Flax or Optax is not installed")
    def test_data_parallelism_with_flax(self):
        self.assertGreater(self.compare(3), 10)

    def test_pjit_and_sharding(self):
        self.assertGreater(self.compare(4), 5)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(pathlib.Path(sys.argv[2]))
    else:
        unittest.main(argv=sys.argv[:1])
