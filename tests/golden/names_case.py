"""The cases of make_names.py: how their operands are drawn, and how they are stored.

A case is named function:arguments:dtypes, and its tensors in0, in1, ... and out0, out1, .... Each function has its own random numbers, so
additional cases of one do not change the others. Positions, which JAX returns in 64 bits, are stored as int32, as Tessera returns them."""
import pathlib
import zlib

import jax
import jax.numpy as jnp
import numpy as np

import tensor_file

assert jax.__version__ == "0.10.2", jax.__version__
jax.config.update("jax_enable_x64", True)
INTS, FLOATS = ("int32", "uint8", "int64"), ("float32", "float64")
_tensors = {}
_halves = None  # while halves() runs: the names and dtypes that it has stored


def rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def draw(r, shape, dtype, edges=False, ties=False):
    if dtype == "bool":
        return r.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        return r.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    x = r.integers(-3, 4, shape) * 0.5 if ties else r.standard_normal(shape) * 2
    x = np.array(x, dtype)
    if edges and x.size:
        flat = x.reshape(-1)
        for value in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            flat[r.integers(0, x.size)] = value
    return x


def _store(name, f, *inputs, positions=()):
    inputs = [np.asarray(x) for x in inputs]
    key = f"{name}:" + "-".join(str(x.dtype) for x in inputs)
    while f"{key}/out0" in _tensors:
        key += "'"
    with jax.numpy_dtype_promotion("standard"):
        outputs = jax.tree.leaves(f(*[jnp.asarray(x) for x in inputs]))
    for i, x in enumerate(inputs):
        _tensors[f"{key}/in{i}"] = x
    for i, y in enumerate(outputs):
        y = np.asarray(y)
        _tensors[f"{key}/out{i}"] = y.astype("int32") if positions == "all" or i in positions else y


def case(name, f, *inputs, positions=()):
    """Stores a case. `name` is function:arguments; f takes the inputs. Outputs in `positions` become int32."""
    if _halves is None:
        return _store(name, f, *inputs, positions=positions)
    inputs = [np.asarray(x) for x in inputs]
    if name.startswith(("grad ", "approx_")) or not any(x.dtype.kind == "f" for x in inputs):
        return
    for dtype in ("float16", "bfloat16"):
        if (name, dtype) in _halves:
            continue
        _halves.add((name, dtype))
        try:
            _store(name, f, *[jnp.asarray(x).astype(dtype) if x.dtype.kind == "f" else x for x in inputs], positions=positions)
        except (TypeError, ValueError) as e:  # JAX has these functions in other dtypes only
            print("not in", dtype, name, str(e)[:60])


def grad_case(name, f, *inputs):
    """Stores the gradients of a weighted sum of the first result with respect to all float inputs, except in halves."""
    if _halves is not None:
        return

    def loss(*xs):
        y = jax.tree.leaves(f(*xs))[0]
        return jnp.sum(y * (1 + 0.25 * (jnp.arange(y.size) % 5)).reshape(y.shape))

    places = tuple(i for i, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f")
    case("grad " + name, jax.grad(loss, places), *inputs)


def write(theme):
    """Writes the cases that were stored since the last theme."""
    if _halves is not None:
        return
    path = pathlib.Path(__file__).with_name(f"names_{theme}.safetensors")
    tensor_file.write(path, _tensors)
    assert path.stat().st_size < 300000, theme
    _tensors.clear()


def halves(themes):
    """Repeats every function in float16 and in bfloat16: the first case of each name that has floats, converted to that dtype."""
    global _halves
    _halves = set()
    for theme in themes:
        theme()
    _halves = None
    write("halves")
