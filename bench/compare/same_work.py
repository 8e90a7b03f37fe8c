"""Checks that PyTorch's rows compute the same as JAX's: both run each row of one device on JAX's arguments.

    PYTHON_WITH_JAX bench/compare/same_work.py write FOLDER          # arguments and results of JAX's rows
    PYTHON_WITH_TORCH bench/compare/same_work.py read FOLDER FORM [ROWS]  # the same by PyTorch, "eager" or "compile"

Prints the largest difference of each row relative to the largest value, and exits with code 1 if one exceeds 1e-4. Float32 sums of a
few thousand terms in two orders, and gradients through them, differ by less. Rows of random numbers are left out, since generators differ.
For training rows the losses of three steps from the same parameters are compared; those after the first show whether updates agree.
"""

import pathlib
import pickle
import re
import sys

import numpy as np

TOLERANCE = 1e-4
STEPS = 3
OTHER = ("from_jax", "jit_tree", "jit_energy", "eager_energy")  # has no array as its result
RANDOM = ("normals", "op/uniform", "op/categorical")
# bfloat16 has 8 bits. A solution loses as many digits as the condition of its matrix has, about 1e4 for 1,000 random rows.
FEW_DIGITS = {"op/product_bfloat16": 1e-2, "cnn_bf16/one": 1e-2, "gpt_bf16/one": 1e-2, "op/solve": 1e-2}


def file(folder, name):
    return folder / (name.replace("/", " ") + ".pickle")


def write(folder):
    import jax
    import jax.numpy as jnp

    import jax_arrays
    import jax_ops
    import jax_row
    import jax_rows
    import jax_training

    def arrays(tree):
        return jax.tree.map(lambda x: np.asarray(x.astype(jnp.float32) if x.dtype == jnp.bfloat16 else x), tree)

    def result(f, *args):
        return arrays(args), arrays(f(*args))

    def losses(loss, params, data, batch, *_):
        p, (x, y) = params(), data((batch,))
        state, step, values, start = jax_training.adam_init(p), jax.jit(jax_training.step_of(loss)), [], arrays((p, x, y))
        for _ in range(STEPS):
            p, state, value = step(p, state, x, y)
            values.append(value)
        return start, np.array(values)

    jax_arrays.bound = jax_ops.bound = result
    jax_training.training = losses
    for name, make in jax_rows.ROWS.items():
        if "@" not in name and name not in RANDOM and not name.startswith(OTHER):
            arguments, values = make()
            if name.startswith("rnn"):  # the function holds its inputs
                arguments += (np.asarray(jax_row.normal(1, (1000, 64))),)
            file(folder, name).write_bytes(pickle.dumps((arguments, values)))


def read(folder, form, pattern=""):
    import torch

    import rows
    import torch_rows

    def tensor(name, x):
        x = torch.from_numpy(np.array(x))
        if name == "op/product_bfloat16":
            return x.bfloat16()
        return x if x.is_floating_point() or x.is_complex() or name == "op/product_int32" else x.long()

    side, differs = {"eager": "eager", "compile": "compiled"}[form], []
    for row in (r for group in rows.GROUPS.values() for r in group):
        if row.kind != "steady" or side not in row.torch or not re.search(pattern, row.name) or not file(folder, row.name).exists():
            continue
        arguments, expected = pickle.loads(file(folder, row.name).read_bytes())
        torch_rows.forget()
        with torch_rows.around(row.name):
            arguments = torch.utils._pytree.tree_map(lambda x: tensor(row.name, x), arguments)
            got = torch_rows.find(row.name).values(form, arguments, STEPS).numpy()
        if got.shape != np.shape(expected):
            sys.exit(f"{row.name}: shapes {got.shape} and {np.shape(expected)}")
        difference = np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30)
        differs += [row.name] * (not difference <= FEW_DIGITS.get(row.name, TOLERANCE))  # a NaN counts as a difference
        print(f"{row.name:30s} {difference:.1e}{'  DIFFERS' if row.name in differs else ''}", flush=True)
    return 1 if differs else 0


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[2])
    place.mkdir(parents=True, exist_ok=True)
    sys.exit(write(place) if sys.argv[1] == "write" else read(place, *sys.argv[3:]))
