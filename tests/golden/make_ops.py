"""Makes ops.safetensors: results of jax 0.10.2 on CPU for functions of jax.lax that make_golden.py does not have.

Cases are named and stored as in make_golden.py; their numbers are written out here, so that an additional case does not change the others."""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import golden_file

assert jax.__version__ == "0.10.2", jax.__version__
jax.config.update("jax_enable_x64", True)
file = golden_file.File()
case = file.case


def words(dtype, n=12):
    info = np.iinfo(dtype)
    edges = [0, 1, info.max, info.min, info.max // 3, info.min // 5 if info.min else info.max // 5]
    more = [(0x9E3779B97F4A7C15 * (i + 1) % (int(info.max) - int(info.min) + 1)) + int(info.min) for i in range(n - len(edges))]
    return np.array(edges + more, dtype)


for dtype in ("int8", "uint16", "int32", "uint32", "int64", "uint64"):
    case("population_count:", lax.population_count, words(dtype))
    case("bitwise_count:", jnp.bitwise_count, words(dtype))
    case("count_leading_zeros:", lax.clz, words(dtype))
for dtype in ("int32", "uint32", "int64", "uint64"):
    case("mulhi:", lax.mulhi, words(dtype), words(dtype)[::-1])
floats = [0.0, -0.0, 1, -1, 1e-45, 65504, 6.1e-5, 3.3e38, np.inf, -np.inf, np.nan, 0.1]
for dtype in ("float32", "float64"):
    case("nextafter:", jnp.nextafter, np.array(floats, dtype), np.array(floats[3:] + floats[:3], dtype))
for dtype in ("float32", "float64", "float16", "bfloat16"):
    x = jnp.asarray(np.array(floats + [1.3, 2.7, 65519, 65520, 1e-7, -1e-30, 3, 1.5, 2.0**-14, 2.0**-15]), dtype)
    for e, m in ((5, 10), (8, 7), (4, 3), (8, 0), (3, 1), (11, 52)):
        case(f"reduce_precision:{e},{m}", lambda x: lax.reduce_precision(x, e, m), x)
some = np.arange(1, 25, dtype="uint8") * 37
for frm, to in (("float32", "uint8"), ("uint64", "uint16"), ("int32", "float32"), ("float64", "int32"), ("bfloat16", "int8")):
    x = jnp.asarray(np.array([1.5, -2, 0.25, 7]), frm) if "float" in frm else jnp.asarray(words(frm)[:4])
    case(f"bitcast_convert_type:{to}", lambda x: lax.bitcast_convert_type(x, to), x)
for frm, to in (("uint8", "float32"), ("uint8", "int64"), ("uint16", "uint32"), ("int32", "float64")):
    width = np.dtype(to).itemsize // np.dtype(frm).itemsize
    case(f"bitcast_convert_type:{to}", lambda x: lax.bitcast_convert_type(x, to), some[: 2 * width].reshape(2, width).astype(frm))

state = np.array([0x0123456789ABCDEF, 0xFFFFFFFFFFFFFFFE], "uint64")
for name, how in (("three_fry", lax.RandomAlgorithm.RNG_THREE_FRY), ("philox", lax.RandomAlgorithm.RNG_PHILOX)):
    for shape, dtype in (((), "uint32"), ((7,), "uint32"), ((3, 5), "uint32"), ((5, 3), "uint32"), ((3, 4), "uint32"), ((2, 3), "uint64"),
                         ((5,), "uint16"), ((6,), "uint8")):
        text = ",".join(map(str, shape))
        case(f"rng_bit_generator:{name} {dtype} {text}", lambda s: lax.rng_bit_generator(s, shape, dtype=dtype, algorithm=how), state)


for dtype in ("float32", "float64"):
    x = np.array([0.03, 0.25, 0.7, 2.5, 3.75, 8.5, 33.0, 1e4], dtype)
    case("gammaln:", jax.scipy.special.gammaln, x)
    case("digamma:", jax.scipy.special.digamma, x)
    for n in (1, 2, 5):
        case(f"polygamma:{n}", lambda x: jax.scipy.special.polygamma(n, x), x[:6])


def affine(x, y):
    return x * y + x + y


x = np.array([[0.5, -0.25, 1.5, 0.75, -0.5], [0.1, 0.2, -0.3, 0.4, 2.0], [1.0, -1.5, 0.0, 0.25, 0.125]])
for dtype in ("float32", "float64"):
    a = x.astype(dtype)
    for axes in ((0,), (1,), (0, 1)):
        text = ",".join(map(str, axes))
        one = lambda v: lax.reduce(v, np.array(0.5, dtype), affine, axes)
        case(f"reduce_affine:{text}", one, a)
        # JAX's derivative assumes that the initial value is an identity.
        zero = lambda v: lax.reduce(v, np.array(0, dtype), affine, axes)
        case(f"grad_reduce_affine:{text}", jax.grad(lambda v: jnp.sum(jnp.square(zero(v)))), a)
    window = lambda v: lax.reduce_window(v, np.array(0.5, dtype), affine, (2, 3), (1, 2), ((1, 0), (0, 1)), (1, 2), (1, 1))
    case("reduce_window_affine:", window, a)


def first_max(acc, new):
    keep = (acc[0] > new[0]) | ((acc[0] == new[0]) & (acc[1] <= new[1]))
    return jnp.where(keep, acc[0], new[0]), jnp.where(keep, acc[1], new[1])


whole = np.array([[3, 1, 3, -2], [0, 0, -7, 0], [5, 6, 6, 4]], "int32")
case("reduce_first_max:1", lambda v: lax.reduce((v, lax.iota("int32", 4)[None] + 0 * v), (np.int32(-2**31), np.int32(99)), first_max, (1,)), whole)

file.write(pathlib.Path(__file__).with_name("ops.safetensors"))
