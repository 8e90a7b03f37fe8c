"""Makes jax.safetensors, the golden results of jax 0.10.2 on CPU.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python make_golden.py

Each case is named function:variant:dtypes and holds tensors <case>/in<i> and <case>/out<i>. The C++ side
(cases_test.cc, with the tables of its neighbours) finds the function by its name; the variant holds the static arguments.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import golden_file

assert jax.__version__ == "0.10.2", jax.__version__
rng = np.random.default_rng(7)
file = golden_file.File()


def values(dtype, shape, lo=-2.0, hi=2.0):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return rng.integers(0 if dtype[0] == "u" else -5, 9, shape).astype(dtype)
    return jnp.asarray(rng.uniform(lo, hi, shape), dtype=dtype)


def case(name, f, *inputs):
    """Stores the inputs unchanged, before JAX converts them."""
    taken = [jnp.asarray(x) for x in inputs]
    file.store(f"{name}:" + "-".join(str(x.dtype) for x in taken), inputs, jax.tree.leaves(f(*taken)))


UNARY = {  # name: (function, domain)
    "exp": (jnp.exp, (-3, 3)), "exp2": (jnp.exp2, (-3, 3)), "expm1": (jnp.expm1, (-1, 1)), "log": (jnp.log, (0.1, 9)),
    "log2": (jnp.log2, (0.1, 9)), "log10": (jnp.log10, (0.1, 9)), "log1p": (jnp.log1p, (-0.5, 3)), "sqrt": (jnp.sqrt, (0, 9)),
    "rsqrt": (lax.rsqrt, (0.1, 9)), "cbrt": (jnp.cbrt, (-8, 8)), "sin": (jnp.sin, (-7, 7)), "cos": (jnp.cos, (-7, 7)),
    "tan": (jnp.tan, (-1.2, 1.2)), "arcsin": (jnp.arcsin, (-0.95, 0.95)), "arccos": (jnp.arccos, (-0.95, 0.95)),
    "arctan": (jnp.arctan, (-5, 5)), "sinh": (jnp.sinh, (-3, 3)), "cosh": (jnp.cosh, (-3, 3)), "tanh": (jnp.tanh, (-3, 3)),
    "arcsinh": (jnp.arcsinh, (-5, 5)), "arccosh": (jnp.arccosh, (1.1, 6)), "arctanh": (jnp.arctanh, (-0.9, 0.9)),
    "erf": (jax.scipy.special.erf, (-2, 2)), "erfc": (jax.scipy.special.erfc, (-2, 2)), "erf_inv": (lax.erf_inv, (-0.95, 0.95)),
    "sigmoid": (jax.nn.sigmoid, (-4, 4)), "reciprocal": (jnp.reciprocal, (0.5, 3)), "floor": (jnp.floor, (-4, 4)),
    "ceil": (jnp.ceil, (-4, 4)), "round": (jnp.round, (-4, 4)), "trunc": (jnp.trunc, (-4, 4)), "negative": (jnp.negative, (-4, 4)),
    "abs": (jnp.abs, (-4, 4)), "sign": (jnp.sign, (-4, 4)), "square": (jnp.square, (-4, 4)), "relu": (jax.nn.relu, (-3, 3)),
    "gelu": (jax.nn.gelu, (-3, 3)), "silu": (jax.nn.silu, (-3, 3)), "softplus": (jax.nn.softplus, (-3, 3)),
    "softmax": (jax.nn.softmax, (-3, 3)), "log_softmax": (jax.nn.log_softmax, (-3, 3)), "leaky_relu": (jax.nn.leaky_relu, (-3, 3)),
}
for name, (f, (lo, hi)) in UNARY.items():
    case(f"{name}:", f, values("float32", (3, 5), lo, hi))
    if name in ("exp", "tanh", "sqrt", "sin", "log", "floor", "abs", "negative", "square", "relu", "erf", "sigmoid"):
        case(f"{name}:", f, values("bfloat16", (7,), lo, hi))
        case(f"{name}:", f, values("float16", (7,), lo, hi))
with jax.enable_x64(True):
    for name in ("exp", "log", "sin", "cos", "tanh", "sqrt", "erf", "erf_inv", "log1p", "expm1", "arctan", "rsqrt", "cbrt", "square"):
        f, (lo, hi) = UNARY[name]
        case(f"{name}:", f, values("float64", (6,), lo, hi))
for name in ("exp", "sqrt", "floor", "square", "abs", "sign", "negative"):
    case(f"{name}:", UNARY[name][0], np.abs(values("int32", (6,))))
case("isnan:", jnp.isnan, np.array([1, np.nan, np.inf, -np.inf, 0], "float32"))
case("isinf:", jnp.isinf, np.array([1, np.nan, np.inf, -np.inf, 0], "float32"))
case("isfinite:", jnp.isfinite, np.array([1, np.nan, np.inf, -np.inf, 0], "float32"))
case("nan_to_num:", jnp.nan_to_num, np.array([1, np.nan, np.inf, -np.inf, 0], "float32"))
case("logical_not:", jnp.logical_not, values("bool", (5,)))
case("bitwise_not:", jnp.bitwise_not, values("int32", (5,)))
case("bitwise_not:", jnp.bitwise_not, values("uint8", (5,)))

BINARY = {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.true_divide, "maximum": jnp.maximum,
          "minimum": jnp.minimum, "floor_divide": jnp.floor_divide, "remainder": jnp.remainder, "arctan2": jnp.arctan2,
          "logaddexp": jnp.logaddexp, "hypot": jnp.hypot, "equal": jnp.equal, "less": jnp.less, "greater_equal": jnp.greater_equal}
for name, f in BINARY.items():
    y = np.where(np.abs(z := np.asarray(values("float32", (4,)))) < 0.3, 0.7, z).astype("float32")
    case(f"{name}:", f, values("float32", (3, 4)), y)
    i = np.array([-7, 7, -7, 7, 6, -6, 0], "int32")
    j = np.array([2, 2, -2, -2, 3, 3, 5], "int32")
    case(f"{name}:", f, i, j)
    if name in ("add", "multiply", "maximum", "divide", "less"):
        case(f"{name}:", f, values("bfloat16", (5,)), values("float32", (5,)))
        case(f"{name}:", f, values("float16", (5,)), np.abs(values("int8", (5,))) + 1)
        case(f"{name}:", f, values("uint8", (5,)), np.abs(values("int16", (5,))) + 1)
        case(f"{name}:", f, values("bool", (5,)), np.abs(values("int32", (5,))) + 1)
case("power:", jnp.power, values("float32", (6,), 0.1, 3), values("float32", (6,)))
case("power:", jnp.power, values("float32", (6,), 0.1, 3), np.array([0, 1, 2, 3, 4, -2], "int32"))
for name, f in {"operator&": jnp.bitwise_and, "operator|": jnp.bitwise_or, "operator^": jnp.bitwise_xor}.items():
    case(f"{name}:", f, values("int32", (5,)), values("int32", (5,)))
    case(f"{name}:", f, values("bool", (5,)), values("bool", (5,)))
case("operator<<:", jnp.left_shift, np.array([1, 3, 5], "int32"), np.array([0, 4, 31], "int32"))
case("operator>>:", jnp.right_shift, np.array([-16, 16, 7], "int32"), np.array([2, 2, 1], "int32"))
case("operator>>:", jnp.right_shift, np.array([200, 16, 7], "uint8"), np.array([2, 2, 1], "uint8"))
case("where:", jnp.where, values("bool", (3, 1)), values("float32", (3, 4)), values("float32", (4,)))
case("clip:", jnp.clip, values("float32", (8,)), np.float32(-1), np.float32(0.5))

# The promotion table, as the dtype codes of sums: strong with strong, strong with weak int, strong with weak float.
ORDER = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
with jax.enable_x64(True):
    table = [[ORDER.index(str(jnp.promote_types(a, b))) for b in ORDER] for a in ORDER]
file.store("promotion:strong:", [], [np.array(table, "int32")])

REDUCE = {"sum": jnp.sum, "prod": jnp.prod, "mean": jnp.mean, "max": jnp.max, "min": jnp.min, "var": jnp.var, "std": jnp.std,
          "logsumexp": jax.scipy.special.logsumexp}
for name, f in REDUCE.items():
    x = values("float32", (3, 4, 5))
    case(f"{name}:all", f, x)
    case(f"{name}:0", lambda v: f(v, axis=0), x)
    case(f"{name}:-1", lambda v: f(v, axis=-1), x)
    case(f"{name}:0,2", lambda v: f(v, axis=(0, 2)), x)
    case(f"{name}:1k", lambda v: f(v, axis=1, keepdims=True), x)
    case(f"{name}:all", f, values("int32", (3, 4)))
    if name in ("sum", "mean", "max"):
        case(f"{name}:0", lambda v: f(v, axis=0), values("bfloat16", (6, 3)))
        case(f"{name}:0", lambda v: f(v, axis=0), values("int8", (6, 3)))
        case(f"{name}:all", f, values("bool", (6, 3)) if name != "max" else values("uint8", (6, 3)))
for name, f in {"any": jnp.any, "all": jnp.all, "count_nonzero": jnp.count_nonzero}.items():
    case(f"{name}:all", f, values("bool", (3, 4)))
    case(f"{name}:1", lambda v: f(v, axis=1), values("int32", (3, 4)))
for name, f in {"argmax": jnp.argmax, "argmin": jnp.argmin}.items():
    x = np.array([[3, 1, 3, 0], [np.nan, 5, 2, 2], [0, 0, 0, 0]], "float32")
    case(f"{name}:all", f, x)
    case(f"{name}:0", lambda v: f(v, axis=0), x)
    case(f"{name}:1", lambda v: f(v, axis=1), x)
for name, f in {"cumsum": jnp.cumsum, "cumprod": jnp.cumprod}.items():
    case(f"{name}:0", lambda v: f(v, axis=0), values("float32", (4, 3)))
    case(f"{name}:1", lambda v: f(v, axis=1), values("int32", (2, 5)))
    case(f"{name}:all", f, values("float32", (2, 3)))

x = values("float32", (2, 3, 4))
case("reshape:4,-1", lambda v: v.reshape(4, -1), x)
case("transpose:", jnp.transpose, x)
case("transpose:1,0,2", lambda v: jnp.transpose(v, (1, 0, 2)), x)
case("swapaxes:0,2", lambda v: jnp.swapaxes(v, 0, 2), x)
case("moveaxis:0,-1", lambda v: jnp.moveaxis(v, 0, -1), x)
case("expand_dims:1", lambda v: jnp.expand_dims(v, 1), x)
case("squeeze:", jnp.squeeze, values("float32", (1, 3, 1)))
case("broadcast_to:2,3", lambda v: jnp.broadcast_to(v, (2, 3)), values("int32", (3,)))
case("concatenate:1", lambda a, b: jnp.concatenate([a, b], 1), values("float32", (2, 3)), values("int32", (2, 2)))
case("stack:1", lambda a, b: jnp.stack([a, b], 1), values("float32", (2, 3)), values("float32", (2, 3)))
case("split:3", lambda v: jnp.split(v, 3), values("float32", (6, 2)))
case("tile:2,1,3", lambda v: jnp.tile(v, (2, 1, 3)), values("int32", (2, 2)))
case("repeat:3", lambda v: jnp.repeat(v, 3, axis=1), values("int32", (2, 2)))
case("pad:", lambda v: jnp.pad(v, ((1, 2), (0, 3))), values("float32", (2, 2)))
case("flip:1", lambda v: jnp.flip(v, 1), values("int32", (2, 4)))
case("roll:2,1", lambda v: jnp.roll(v, 2, 1), values("int32", (2, 5)))
case("roll:-3", lambda v: jnp.roll(v, -3), values("int32", (2, 5)))
case("tril:-1", lambda v: jnp.tril(v, -1), values("float32", (4, 4)))
case("triu:1", lambda v: jnp.triu(v, 1), values("float32", (3, 4)))
case("diag:", jnp.diag, values("float32", (4,)))
case("diag:", jnp.diag, values("float32", (3, 4)))
case("trace:", jnp.trace, values("float32", (4, 4)))
case("sort:", jnp.sort, np.array([[3, np.nan, -1, 2], [0, -0.0, 5, -np.inf]], "float32"))
case("sort:", lambda v: jnp.sort(v, -1), values("int32", (3, 6)))
case("argsort:", jnp.argsort, np.array([[3, 1, 3, 0], [2, 2, 1, 2]], "float32"))
case("take:0", lambda v, i: jnp.take(v, i, axis=0), values("float32", (4, 3)), np.array([[0, 3], [-1, 2]], "int32"))
case("take:0", lambda v, i: jnp.take(v, i, axis=0), values("float32", (4, 3)), np.array([7, -9, 1], "int32"))
case("take_along_axis:1", lambda v, i: jnp.take_along_axis(v, i, 1), values("float32", (3, 4)), np.array([[0, 3], [1, 1], [-1, 2]], "int32"))
case("one_hot:5", lambda v: jax.nn.one_hot(v, 5), np.array([0, 4, 7, -1, 2], "int32"))
case("index:1,all", lambda v: v[1, :], values("float32", (3, 4)))
case("index:::2,1:", lambda v: v[::2, 1:], values("float32", (5, 4)))
case("index:::-1", lambda v: v[::-1], values("int32", (5,)))
case("index:3:0:-2", lambda v: v[3:0:-2], values("int32", (5,)))
case("index:array", lambda v, i: v[i], values("float32", (5, 2)), np.array([[0, -1], [2, 2]], "int32"))
case("index:array-all-array", lambda v, i, j: v[i, :, j], values("float32", (3, 2, 4)), np.array([0, 2], "int32"), np.array([3, 1], "int32"))
case("index:all-array-array", lambda v, i, j: v[:, i, j], values("float32", (2, 3, 4)), np.array([[0], [2]], "int32"), np.array([3, 1], "int32"))
case("index:0-all-array", lambda v, i: v[0, :, i], values("float32", (2, 3, 4)), np.array([3, 1], "int32"))
case("index:new", lambda v: v[:, None, 1], values("float32", (2, 3)))
case("at_set:1", lambda v, u: v.at[1].set(u), values("float32", (3, 2)), values("float32", (2,)))
case("at_set:1:3", lambda v, u: v.at[1:3].set(u), values("float32", (4, 2)), np.float32(9))
case("at_add:array", lambda v, i, u: v.at[i].add(u), values("float32", (4,)), np.array([1, 1, -1, 8], "int32"), np.array([1, 2, 4, 8], "float32"))
case("at_multiply:::2", lambda v, u: v.at[::2].multiply(u), values("float32", (5,)), np.float32(3))
case("at_max:array", lambda v, i, u: v.at[i].max(u), values("float32", (4,)), np.array([0, 2, 2], "int32"), np.array([1, 5, -4], "float32"))
case("dynamic_slice:", lambda v, i: lax.dynamic_slice(v, (i, 0), (2, 3)), values("float32", (5, 3)), np.int32(9))

case("dot:", jnp.dot, values("float32", (3, 4)), values("float32", (4, 2)))
case("dot:", jnp.dot, values("float32", (4,)), values("float32", (4,)))
case("dot:", jnp.dot, values("float32", (2, 3, 4)), values("float32", (5, 4, 2)))
case("dot:", jnp.dot, values("int32", (3, 4)), values("int32", (4, 2)))
case("dot:", jnp.dot, values("bfloat16", (3, 4)), values("bfloat16", (4, 2)))
case("matmul:", jnp.matmul, values("float32", (2, 3, 4)), values("float32", (4, 5)))
case("matmul:", jnp.matmul, values("float32", (2, 1, 3, 4)), values("float32", (5, 4, 2)))
case("matmul:", jnp.matmul, values("float32", (4,)), values("float32", (2, 4, 3)))
case("outer:", jnp.outer, values("float32", (3,)), values("float32", (2, 2)))
case("inner:", jnp.inner, values("float32", (2, 4)), values("float32", (3, 4)))
case("tensordot:2", jnp.tensordot, values("float32", (2, 3, 4)), values("float32", (3, 4, 5)))
for spec in ("ij,jk->ik", "bqhd,bkhd->bhqk", "ii->i", "ij->j", "ij,ij", "i,j->ij", "...ij,jk->...ik", "ij,jk,kl->il", "ii"):
    shapes = {"ij,jk->ik": [(2, 3), (3, 4)], "bqhd,bkhd->bhqk": [(2, 3, 2, 4), (2, 5, 2, 4)], "ii->i": [(3, 3)], "ij->j": [(2, 3)],
              "ij,ij": [(2, 3), (2, 3)], "i,j->ij": [(2,), (3,)], "...ij,jk->...ik": [(2, 2, 3), (3, 4)],
              "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)], "ii": [(3, 3)]}[spec]
    case(f"einsum:{spec}", lambda *a: jnp.einsum(spec, *a), *[values("float32", s) for s in shapes])
    case(f"einsum:{spec}", lambda *a: jnp.einsum(spec, *a), *[values("int32", s) for s in shapes])


def conv(strides=(1, 1), padding="SAME", lhs=(1, 1), rhs=(1, 1), groups=1):
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, lhs, rhs, ("NHWC", "HWIO", "NHWC"), groups)


image, kernel = values("float32", (2, 6, 5, 4)), values("float32", (3, 3, 4, 6))
case("conv:same", conv(), image, kernel)
case("conv:valid", conv(padding="VALID"), image, kernel)
case("conv:stride2", conv((2, 2)), image, kernel)
case("conv:lhs2", conv(padding=((1, 1), (1, 1)), lhs=(2, 2)), image, kernel)
case("conv:rhs2", conv(rhs=(2, 2)), image, kernel)
case("conv:pad", conv(padding=((1, 2), (0, 3))), image, kernel)
case("conv:groups2", conv(groups=2), image, values("float32", (3, 3, 2, 6)))
case("conv:same", conv(), values("bfloat16", (1, 5, 5, 2)), values("bfloat16", (3, 3, 2, 3)))
for variant, f in {"same": conv(), "stride2": conv((2, 2)), "groups2": conv(groups=2)}.items():
    k = values("float32", (3, 3, 2, 6)) if variant == "groups2" else kernel
    case(f"conv_grad:{variant}", jax.grad(lambda a, b: jnp.sum(jnp.sin(f(a, b))), (0, 1)), image, k)
pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
case("max_pool:2", pool, image)
case("max_pool_grad:2", jax.grad(lambda x: jnp.sum(jnp.sin(pool(x)))), image)

for name in ("sin", "tanh", "sqrt", "log", "exp", "sigmoid", "erf", "abs", "relu", "gelu", "softplus", "arctan", "rsqrt", "expm1", "cbrt", "square"):
    f, (lo, hi) = UNARY[name]
    case(f"grad_{name}:", jax.grad(lambda v: jnp.sum(f(v))), values("float32", (5,), max(lo, -2), min(hi, 2)))
    case(f"hess_{name}:", jax.vmap(jax.grad(jax.grad(f))), values("float32", (5,), max(lo, -2) if lo < 0 else 0.2, min(hi, 2)))
case("grad_max:", jax.grad(lambda v: jnp.max(v)), np.array([1, 3, 3, 2], "float32"))
case("grad_logsumexp:", jax.grad(lambda v: jax.scipy.special.logsumexp(v)), values("float32", (5,)))
case("grad_std:", jax.grad(lambda v: jnp.std(v)), values("float32", (5,)))
case("grad_prod:", jax.grad(lambda v: jnp.prod(v)), np.array([2, 0, 3], "float32"))
case("grad_sort:", jax.grad(lambda v: jnp.sum(jnp.sort(v) * jnp.arange(4.0))), np.array([3, 1, 2, 0], "float32"))
case("grad_cumsum:", jax.grad(lambda v: jnp.sum(jnp.cumsum(v) ** 2)), values("float32", (4,)))
case("grad_take:", jax.grad(lambda v: jnp.sum(jnp.take(v, jnp.array([0, 2, 2])) ** 2)), values("float32", (4,)))
case("grad_power:", jax.grad(lambda v, p: jnp.sum(v**p), (0, 1)), values("float32", (4,), 0.2, 2), values("float32", (4,)))

for seed in (0, 1, 42, 2**31 + 5):
    k = jax.random.PRNGKey(seed)
    for dtype in ("uint8", "uint16", "uint32"):
        case(f"bits:{dtype}", lambda k: jax.random.bits(k, (3, 2), dtype), k)
    case("random_split:5", lambda k: jax.random.split(k, 5), k)
    case("fold_in:7", lambda k: jax.random.fold_in(k, 7), k)
    case("uniform:", lambda k: jax.random.uniform(k, (5,)), k)
    case("uniform:bf16", lambda k: jax.random.uniform(k, (5,), "bfloat16"), k)
    case("uniform:-2,3", lambda k: jax.random.uniform(k, (5,), minval=-2, maxval=3), k)
    case("normal:", lambda k: jax.random.normal(k, (2, 3)), k)
    case("randint:", lambda k: jax.random.randint(k, (9,), -3, 10), k)
    case("permutation:13", lambda k: jax.random.permutation(k, 13), k)
    case("bernoulli:", lambda k: jax.random.bernoulli(k, 0.3, (9,)), k)
    case("gumbel:", lambda k: jax.random.gumbel(k, (4,)), k)
    case("categorical:", lambda k: jax.random.categorical(k, jnp.array([[0.1, 2.0, -1.0], [1.0, 1.0, 1.0]])), k)
    case("truncated_normal:", lambda k: jax.random.truncated_normal(k, -2.0, 1.5, (5,)), k)
    case("choice:replace", lambda k: jax.random.choice(k, 10, (4,)), k)
    case("choice:without", lambda k: jax.random.choice(k, 10, (4,), replace=False), k)
    case("choice:p", lambda k: jax.random.choice(k, 4, (6,), p=jnp.array([0.1, 0.2, 0.3, 0.4])), k)
    case("exponential:", lambda k: jax.random.exponential(k, (4,)), k)
with jax.enable_x64(True):
    k = jax.random.PRNGKey(3)
    case("bits:uint64", lambda k: jax.random.bits(k, (4,), "uint64"), k)
    case("uniform:f64", lambda k: jax.random.uniform(k, (4,), "float64"), k)
    case("normal:f64", lambda k: jax.random.normal(k, (4,), "float64"), k)

logits, labels = values("float32", (4, 5)), np.array([0, 4, 2, 2], "int32")
case("cross_entropy:", lambda l, y: -jnp.sum(jax.nn.one_hot(y, 5) * jax.nn.log_softmax(l), -1), logits, labels)

file.write(pathlib.Path(__file__).with_name("jax.safetensors"))
