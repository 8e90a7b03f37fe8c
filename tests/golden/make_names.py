"""Makes names_*.safetensors: results of jax 0.10.2 on CPU for the functions of docs/names.md, over drawn shapes and dtypes.

A case is named function:arguments:dtypes, its tensors in0, in1, ... and out0, out1, ...; each function has draws of its own, so that
more cases of one change none of the others. Positions, which JAX gives in 64 bits, are stored as int32, which they are here."""
import json
import pathlib
import struct
import sys
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

assert jax.__version__ == "0.10.2", jax.__version__
jax.config.update("jax_enable_x64", True)
CODES = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
         "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
INTS, FLOATS = ("int32", "uint8", "int64"), ("float32", "float64")
tensors = {}


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


def shape_of(r, least=1, most=3, extents=(1, 2, 3, 4, 5)):
    return tuple(int(n) for n in r.choice(extents, r.integers(least, most + 1)))


def stored(y):
    y = np.asarray(y)
    return y


def case(name, f, *inputs, positions=()):
    """`name` is function:arguments; f takes the inputs. Outputs in `positions` become int32."""
    inputs = [np.asarray(x) for x in inputs]
    key = f"{name}:" + "-".join(str(x.dtype) for x in inputs)
    while f"{key}/out0" in tensors:
        key += "'"
    with jax.numpy_dtype_promotion("standard"):
        outputs = jax.tree.leaves(f(*[jnp.asarray(x) for x in inputs]))
    for i, x in enumerate(inputs):
        tensors[f"{key}/in{i}"] = x
    for i, y in enumerate(outputs):
        y = np.asarray(y)
        tensors[f"{key}/out{i}"] = y.astype("int32") if positions == "all" or i in positions else y


def grad_case(name, f, *inputs):
    """The gradients to all inputs that are floats, of a weighted sum of the first result."""
    def loss(*xs):
        y = jax.tree.leaves(f(*xs))[0]
        return jnp.sum(y * (1 + 0.25 * (jnp.arange(y.size) % 5)).reshape(y.shape))
    places = tuple(i for i, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f")
    case("grad " + name, jax.grad(loss, places), *inputs)


def write(theme):
    global tensors
    header, body = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(__file__).with_name(f"names_{theme}.safetensors")
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    print(theme, len({n.rsplit("/", 1)[0] for n in tensors}), "cases,", path.stat().st_size, "bytes")
    assert path.stat().st_size < 300000, theme
    tensors = {}


# --- stacking.h
def stacking():
    for k, dtype in enumerate(("float32", "int32", "bool", "float64", "uint8")):
        r = rng("stacking" + dtype)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            for rank in range(4):
                case(f"{name}:", getattr(jnp, name), draw(r, (2, 3, 4)[:rank], dtype))
        for name in ("vstack", "hstack", "dstack", "column_stack"):
            f = getattr(jnp, name)
            case(f"{name}:", lambda *xs: f(xs), draw(r, (3,), dtype), draw(r, (3,), "int32"))
            case(f"{name}:", lambda *xs: f(xs), draw(r, (3, 2), dtype), draw(r, (3, 2), dtype), draw(r, (3, 2), dtype))
        case("block:", lambda a, b, c, d: jnp.block([[a, b], [c, d]]), draw(r, (2, 3), dtype), draw(r, (2, 1), dtype),
             draw(r, (1, 2), "int32"), draw(r, (1, 2), dtype))
        x = draw(r, (4, 5), dtype)
        case("append:", jnp.append, x, draw(r, (3,), dtype))
        case("append:1", lambda x, y: jnp.append(x, y, axis=1), x, draw(r, (4, 1), dtype))
        case("broadcast_arrays:", lambda *xs: jnp.broadcast_arrays(*xs), draw(r, (3, 1), dtype), draw(r, (4,), "float32"), draw(r, (), dtype))
        for n in (1, 2, 3, 7):
            for axis in (0, -1):
                case(f"array_split:{n} {axis}", lambda x: jnp.array_split(x, n, axis=axis), x)
        y = draw(r, (4, 6, 2), dtype)
        for name in ("vsplit", "hsplit", "dsplit"):
            case(f"{name}:2", lambda x: getattr(jnp, name)(x, 2), y)
        case("hsplit:3", lambda x: jnp.hsplit(x, 3), draw(r, (6,), dtype))
        case("unstack:1", lambda x: jnp.unstack(x, axis=1), y)
        case("delete_:1 0", lambda x: jnp.delete(x, 1, axis=0), y)
        case("delete_:-2 1", lambda x: jnp.delete(x, -2, axis=1), y)
        case("delete_:3", lambda x: jnp.delete(x, 3), x)
        for axis, start in ((2, 0), (0, 2), (-1, 1), (1, 3), (0, 3)):
            case(f"rollaxis:{axis} {start}", lambda x: jnp.rollaxis(x, axis, start), y)
        for turns in (-1, 0, 1, 2, 3, 5):
            case(f"rot90:{turns} 0 1", lambda x: jnp.rot90(x, turns), y)
            case(f"rot90:{turns} -1 0", lambda x: jnp.rot90(x, turns, axes=(-1, 0)), y)
        case("fliplr:", jnp.fliplr, y)
        case("flipud:", jnp.flipud, x)
    r = rng("stacking grad")
    grad_case("rot90:1 0 1", jnp.rot90, draw(r, (2, 3), "float32"))
    grad_case("append:", jnp.append, draw(r, (3,), "float32"), draw(r, (2, 2), "float32"))
    write("stacking")


# --- grids.h
def grids():
    for dtype in ("float32", "int32", "float64", "bool"):
        r = rng("grids" + dtype)
        a, b, c = draw(r, (3,), dtype), draw(r, (4,), "int32"), draw(r, (2,), dtype)
        for indexing in ("xy", "ij"):
            for sparse in (0, 1):
                case(f"meshgrid:{indexing} {sparse}", lambda *xs: jnp.meshgrid(*xs, indexing=indexing, sparse=bool(sparse)), a, b, c)
                case(f"meshgrid:{indexing} {sparse}", lambda *xs: jnp.meshgrid(*xs, indexing=indexing, sparse=bool(sparse)), a)
        x = draw(r, (4, 5), dtype)
        for k in (-5, -4, -1, 0, 2, 4, 6):
            case(f"diagonal:{k} 0 1", lambda x: jnp.diagonal(x, k), x)
        y = draw(r, (3, 2, 4), dtype)
        case("diagonal:1 0 2", lambda x: jnp.diagonal(x, 1, 0, 2), y)
        case("diagonal:-1 -1 1", lambda x: jnp.diagonal(x, -1, -1, 1), y)
        for k in (-2, 0, 1):
            case(f"diagflat:{k}", lambda x: jnp.diagflat(x, k), draw(r, (2, 2), dtype))
        case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), x, draw(r, (), dtype))
        case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), draw(r, (3, 3, 3), dtype), draw(r, (3,), dtype))
        if dtype != "bool":
            for n in (0, 1, 3, 5):
                for increasing in (0, 1):
                    case(f"vander:{n} {increasing}", lambda x: jnp.vander(x, n, increasing=bool(increasing)), a)
    r = rng("ix")
    case("ix_:", lambda *xs: jnp.ix_(*xs), draw(r, (3,), "int32"), draw(r, (2,), "int64"))
    for shape in ((2, 3), (4,), (2, 1, 3)):
        case("indices:" + " ".join(map(str, shape)), lambda: jnp.indices(shape), positions="all")
    for n, m, k in ((3, 4, 0), (4, 3, 1), (3, 3, -1), (2, 5, 2), (3, 2, -7), (0, 0, 0)):
        case(f"tri:{n} {m} {k}", lambda: jnp.tri(n, m, k, "float32"))
        case(f"tril_indices:{n} {k} {m}", lambda: jnp.tril_indices(n, k, m), positions="all")
        case(f"triu_indices:{n} {k} {m}", lambda: jnp.triu_indices(n, k, m), positions="all")
    case("identity:4", lambda: jnp.identity(4, "float32"))
    for dtype in FLOATS:
        for start, stop, num, end in ((0, 2, 5, 1), (-1, 1.5, 7, 0), (1, 1, 1, 1), (0, 1, 0, 1)):
            case(f"logspace:{start} {stop} {num} {end} {dtype}", lambda: jnp.logspace(start, stop, num, bool(end), dtype=dtype))
        for start, stop, num, end in ((1, 1000, 4, 1), (-2, -0.125, 6, 0), (3, 3, 2, 1), (1e-3, 1e3, 9, 1)):
            case(f"geomspace:{start} {stop} {num} {end} {dtype}", lambda: jnp.geomspace(start, stop, num, bool(end), dtype=dtype))
    grad_case("diagonal:1 0 1", lambda x: jnp.diagonal(x, 1), draw(r, (3, 4), "float32"))
    grad_case("diagflat:1", lambda x: jnp.diagflat(x, 1), draw(r, (3,), "float32"))
    grad_case("vander:4 0", lambda x: jnp.vander(x, 4), draw(r, (3,), "float64"))
    grad_case("fill_diagonal:", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), draw(r, (3, 4), "float32"), draw(r, (3,), "float32"))
    write("grids")


# --- numeric.h
def numeric():
    for name in ("fabs", "signbit", "deg2rad", "rad2deg", "sinc"):
        for dtype in FLOATS + INTS:
            r = rng(name + dtype)
            case(f"{name}:", getattr(jnp, name), draw(r, (3, 7), dtype, edges=name != "sinc"))
    for dtype in FLOATS + ("int32",):
        for d in (0, 1, 3) + ((-1,) if dtype != "int32" else ()):
            case(f"around:{d}", lambda x: jnp.round(x, d), draw(rng(f"round{d}"), (9,), dtype) * (10 if d < 0 else 1))
    pairs = [("float32", "float32"), ("float64", "float32"), ("int32", "float32"), ("int32", "int32"), ("uint8", "int32"), ("int64", "int64")]
    for name in ("copysign", "float_power", "fmax", "fmin", "fmod", "divmod", "heaviside", "mod"):
        for a, b in pairs:
            r = rng(name + a + b)
            x, y = draw(r, (4, 5), a, edges=name in ("copysign", "fmax", "fmin")), draw(r, (5,), b)
            if name == "float_power":
                x, y = np.abs(x), y / 4 if b[0] == "f" else y
            if name in ("fmod", "divmod", "mod", "float_power"):
                y = np.where(y == 0, 1, y).astype(b)
            if name == "heaviside":
                x = np.where(np.abs(x) < 1, 0, x).astype(a)
            case(f"{name}:", getattr(jnp, name), x, y)
    for name in ("gcd", "lcm"):
        for a, b in (("int32", "int32"), ("uint8", "uint8"), ("int64", "int32"), ("int32", "uint8")):
            r = rng(name + a + b)
            x, y = draw(r, (6, 1), a) * (4 if a != "uint8" else 2), draw(r, (7,), b) * 3
            case(f"{name}:", getattr(jnp, name), x.astype(a), y.astype(b))
    for a in FLOATS + ("int32",):
        r = rng("ldexp" + a)
        case("ldexp:", jnp.ldexp, draw(r, (6,), a), np.array([0, 1, -3, 40, -40, 100], "int32"))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for a, b in (("int32", "int32"), ("bool", "bool"), ("uint8", "int32")):
            r = rng(name + a)
            case(f"{name}:", getattr(jnp, name), draw(r, (4, 5), a), draw(r, (5,), b))
    r = rng("select")
    case("select:", lambda c, d, x, y: jnp.select([c, d], [x, y], 7), draw(r, (4, 5), "bool"), draw(r, (4, 5), "bool"),
         draw(r, (4, 5), "int32"), draw(r, (4, 5), "float32"))
    x = np.array([0.0, 0.25, -0.6, 1, 2.5, 0.05, -0.159154, 0.16], "float64")
    grad_case("sinc:", jnp.sinc, x)
    grad_case("copysign:", lambda x, y: jnp.copysign(x, y), draw(r, (5,), "float32"), draw(r, (5,), "float32"))
    grad_case("fmax:", jnp.fmax, draw(r, (5,), "float32"), draw(r, (5,), "float32"))
    grad_case("deg2rad:", jnp.deg2rad, draw(r, (5,), "float32"))
    grad_case("float_power:", jnp.float_power, np.abs(draw(r, (5,), "float64")), draw(r, (5,), "float64"))
    write("numeric")


# --- statistics.h
def statistics():
    axes = ("all", "0", "-1", "0,1")

    def over(text):
        return None if text == "all" else tuple(map(int, text.split(","))) if "," in text else int(text)

    for dtype in FLOATS + ("int32",):
        r = rng("stat" + dtype)
        x = draw(r, (4, 5, 3), dtype, ties=True)
        holes = draw(r, (4, 5, 3), dtype)
        if dtype != "int32":
            holes[r.random((4, 5, 3)) < 0.3] = np.nan
            holes[1, 2, :] = np.nan
            holes[:, 0, 0] = np.nan
        for axis in axes:
            for keep in (0, 1):
                o = dict(axis=over(axis), keepdims=bool(keep))
                v = f"{axis} {keep}"
                for name in ("median", "ptp", "nanmedian", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar"):
                    whole = dtype == "int32" and name in ("nansum", "nanprod")  # sums of integers are in 32 bits here
                    case(f"{name}:{v}", lambda x: getattr(jnp, name)(x, **o), holes if name.startswith("nan") or keep else x,
                         positions="all" if whole else ())
                for name, q in (("quantile", [0, 0.25, 0.6, 1]), ("nanquantile", [0.1, 0.5]), ("percentile", 30.0), ("nanpercentile", [75.0])):
                    case(f"{name}:{v} linear", lambda x, q: getattr(jnp, name)(x, q, **o), holes if name.startswith("nan") else x,
                         np.array(q, "float32" if dtype == "int32" else dtype))
        for method in ("lower", "higher", "midpoint", "nearest"):
            case(f"quantile:1 0 {method}", lambda x, q: jnp.quantile(x, q, axis=1, method=method), x, np.array([0.1, 0.4, 0.5, 0.9], "float64"))
        for name in ("nanargmax", "nanargmin"):
            for axis in ("0", "-1"):
                case(f"{name}:{axis}", lambda x: getattr(jnp, name)(x, axis=int(axis)), holes, positions="all")
        case("average:all 0", jnp.average, x)
        w = np.abs(draw(r, (5,), "float32")) + 0.5
        case("average:1 0", lambda x, w: jnp.average(x, axis=1, weights=w), x, w)
        w = np.abs(draw(r, (4, 5, 3), "float32")) + 0.5
        case("average:0,2 1", lambda x, w: jnp.average(x, axis=(0, 2), weights=w, keepdims=True), x, w)
        m, y = draw(r, (3, 6), dtype), draw(r, (2, 6), dtype)
        for rowvar in (0, 1):
            case(f"cov:{rowvar} -1", lambda x: jnp.cov(x, rowvar=bool(rowvar)), m)
            case(f"corrcoef:{rowvar}", lambda x: jnp.corrcoef(x, rowvar=bool(rowvar)), m)
        case("cov:1 0", lambda x, y: jnp.cov(x, y, ddof=0), m, y)
        case("cov:1 -1", jnp.cov, m[0])
        case("corrcoef:1", jnp.corrcoef, m, y)
        h = draw(r, (40,), dtype)
        case("histogram:5 0", lambda x: jnp.histogram(x, 5), h)
        case("histogram:7 1", lambda x: jnp.histogram(x, 7, density=True), h)
        case("histogram:4 0 -2 3", lambda x: jnp.histogram(x, 4, (-2, 3)), h)
        case("histogram:3 0", lambda x: jnp.histogram(x, 3), np.full(4, 2, dtype))
        case("histogram_edges:0", lambda x, e: jnp.histogram(x, e), h, np.array([-3, -1, 0, 0.5, 4], "float32"))
        case("histogram_weights:6 0", lambda x, w: jnp.histogram(x, 6, weights=w), draw(r, (40,), "float32"), np.abs(draw(r, (40,), "float32")))
    for dtype in INTS:
        r = rng("bincount" + dtype)
        b = np.abs(draw(r, (30,), dtype))
        case("bincount:8", lambda x: jnp.bincount(x, length=8), b, positions="all")
        case("bincount:12", lambda x: jnp.bincount(x, length=12), draw(r, (30,), dtype), positions="all")
        case("bincount:10", lambda x, w: jnp.bincount(x, w, length=10), b, draw(r, (30,), "float32"))
        case("bincount_all:", jnp.bincount, b, positions="all")
    r = rng("stat grad")
    x = draw(r, (4, 5), "float64")
    grad_case("median:0 0", lambda x: jnp.median(x, 0), x)
    grad_case("median:-1 0", lambda x: jnp.median(x, -1), x)
    grad_case("quantile:1 0 linear", lambda x, q: jnp.quantile(x, q, axis=1), x, np.array([0.3, 0.7]))
    grad_case("average:1 0", lambda x, w: jnp.average(x, axis=1, weights=w), x, np.abs(draw(r, (5,), "float64")) + 1)
    grad_case("cov:1 -1", jnp.cov, x)
    grad_case("corrcoef:1", jnp.corrcoef, x)
    grad_case("ptp:1 0", lambda x: jnp.ptp(x, 1), x)
    holes = x.copy()
    holes[0, 1] = holes[2, 3] = np.nan
    grad_case("nanmean:1 0", lambda x: jnp.nanmean(x, 1), holes)
    grad_case("nanmax:0 0", lambda x: jnp.nanmax(x, 0), holes)
    grad_case("nanstd:1 0", lambda x: jnp.nanstd(x, 1), holes)
    write("statistics")


# --- calculus.h, signal.h, products.h, polynomial.h
def calculus():
    for dtype in FLOATS + ("int32", "bool"):
        r = rng("calc" + dtype)
        x = draw(r, (4, 5), dtype)
        for n, axis in ((0, -1), (1, -1), (2, 0), (1, 0), (6, 1)):
            if dtype != "bool" or n < 2:
                case(f"diff:{n} {axis}", lambda x: jnp.diff(x, n, axis), x)
        if dtype == "bool":
            continue
        case("diff_ends:0", lambda x, a, b: jnp.diff(x, axis=0, prepend=a, append=b), x, draw(r, (), dtype), draw(r, (2, 5), dtype))
        case("ediff1d:", jnp.ediff1d, x)
        case("ediff1d_ends:", lambda x, b, e: jnp.ediff1d(x, to_end=e, to_begin=b), x, draw(r, (2,), dtype), draw(r, (1,), dtype))
        case("gradient:", jnp.gradient, x)
        case("gradient:0.5 -1", lambda x: [jnp.gradient(x, 0.5, axis=-1)], x.astype("float32" if dtype == "int32" else dtype))
        if dtype != "int32":
            for axis, reverse in ((0, 0), (-1, 1)):
                case(f"cumlogsumexp:{axis} {reverse}", lambda x: lax.cumlogsumexp(x, axis % 2, bool(reverse)), x)
        case("trapezoid:0.5 0", lambda y: jnp.trapezoid(y, dx=0.5, axis=0), x)
        case("trapezoid_at:-1", lambda y, x: jnp.trapezoid(y, x), x, np.cumsum(np.abs(draw(r, (5,), "float32"))))
        xp = np.sort(draw(r, (7,), "float32"))
        at = np.concatenate([draw(r, (9,), dtype).astype("float32"), xp[:3], [9, -9, np.nan]]).astype("float32")
        case("interp:", jnp.interp, at, xp, draw(r, (7,), dtype))
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
            for order in (0, 1):
                q = rng(f"map_coordinates{mode}{order}{dtype}")
                case(f"map_coordinates:{order} {mode}", lambda x, *c: jax.scipy.ndimage.map_coordinates(x, c, order, mode, 1.5),
                     draw(q, (4, 3), dtype), draw(q, (3, 4), "float32") * 3, draw(q, (4,), "float32") * 2)
        case("interp_ends:", lambda x, p, f: jnp.interp(x, p, f, left=-1, right=2.5), at, xp, draw(r, (7,), dtype))
        case("interp_period:3", lambda x, p, f: jnp.interp(x, p, f, period=3), at[:9], xp, draw(r, (7,), dtype))
        if dtype != "int32":
            u = np.cumsum(draw(r, (3, 9), dtype), 1)
            case("unwrap:-1 6.283185307179586", jnp.unwrap, u)
            case("unwrap:0 3", lambda p: jnp.unwrap(p, axis=0, period=3), u)
        for n, m in ((7, 3), (3, 7), (5, 5), (6, 4), (4, 1)):
            a, b = draw(r, (n,), dtype), draw(r, (m,), dtype)
            for mode in ("full", "same", "valid"):
                case(f"convolve:{mode}", lambda x, y: jnp.convolve(x, y, mode), a, b)
                case(f"correlate:{mode}", lambda x, y: jnp.correlate(x, y, mode), a, b)
        for s, t in (((5, 6), (3, 2)), ((4, 4), (4, 1)), ((2, 3), (5, 4))):
            a, b = draw(r, s, dtype), draw(r, t, dtype)
            for mode in ("full", "same", "valid"):
                case(f"convolve2d:{mode}", lambda x, y: jax.scipy.signal.convolve2d(x, y, mode), a, b)
        a, b = draw(r, (3, 4, 2), dtype), draw(r, (2, 2, 2), dtype)
        case("convolve:same", lambda x, y: jax.scipy.signal.convolve(x, y, "same"), a, b)
        case("vdot:", jnp.vdot, draw(r, (2, 3), dtype), draw(r, (6,), dtype))
        case("vecdot:0", lambda x, y: jnp.vecdot(x, y, axis=0), draw(r, (3, 4), dtype), draw(r, (3, 4), dtype))
        for s, t, axis in (((4, 3), (4, 3), -1), ((3, 5), (3, 5), 0), ((4, 2), (4, 3), -1), ((4, 2), (2,), -1)):
            case(f"cross:{axis}", lambda x, y: jnp.cross(x, y, axis=axis), draw(r, s, dtype), draw(r, t, dtype))
        case("kron:", jnp.kron, draw(r, (2, 3), dtype), draw(r, (2, 2), dtype))
        case("kron:", jnp.kron, draw(r, (3,), dtype), draw(r, (2, 2), dtype))
        case("batch_matmul:", lax.batch_matmul, draw(r, (3, 2, 4), dtype), draw(r, (3, 4, 5), dtype))
        p, q = draw(r, (4,), dtype), draw(r, (2,), dtype)
        case("polyval:", jnp.polyval, p, draw(r, (3, 2), dtype))
        case("polyadd:", jnp.polyadd, p, q)
        case("polysub:", jnp.polysub, q, p)
        case("polymul:", jnp.polymul, p.astype("float32"), q)
        for m in (0, 1, 2, 5):
            case(f"polyder:{m}", lambda p: jnp.polyder(p, m), p.astype("float64"))
            if m < 5:
                case(f"polyint:{m}", lambda p: jnp.polyint(p, m), p.astype("float64"))
        case("polyint_of:2", lambda p, k: jnp.polyint(p, 2, k), p.astype("float64"), np.array([1.0, -3.0]))
    r = rng("conv_transpose")
    for stride, padding, flipped in ((1, "SAME", 0), (2, "SAME", 0), (3, "SAME", 1), (2, "VALID", 0), (1, "VALID", 1), (4, "VALID", 0)):
        x, k = draw(r, (2, 4, 5, 3), "float32"), draw(r, (3, 2) + ((4, 3) if flipped else (3, 4)), "float32")
        case(f"conv_transpose:{stride} {padding} {flipped}", lambda x, k: lax.conv_transpose(
            x, k, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), transpose_kernel=bool(flipped)), x, k)
    d = "float64"
    grad_case("diff:2 0", lambda x: jnp.diff(x, 2, 0), draw(r, (4, 3), d))
    grad_case("gradient:", lambda x: jnp.gradient(x), draw(r, (5,), d))
    grad_case("trapezoid_at:-1", lambda y, x: jnp.trapezoid(y, x), draw(r, (3, 5), d), np.sort(draw(r, (5,), d)))
    grad_case("interp:", jnp.interp, draw(r, (6,), d), np.sort(draw(r, (5,), d)), draw(r, (5,), d))
    grad_case("unwrap:-1 6.283185307179586", jnp.unwrap, np.cumsum(draw(r, (9,), d)))
    for mode in ("full", "same", "valid"):
        grad_case(f"convolve:{mode}", lambda x, y: jnp.convolve(x, y, mode), draw(r, (6,), d), draw(r, (3,), d))
        grad_case(f"correlate:{mode}", lambda x, y: jnp.correlate(x, y, mode), draw(r, (3,), d), draw(r, (6,), d))
    grad_case("cumlogsumexp:0 0", lambda x: lax.cumlogsumexp(x), draw(r, (4, 3), d))
    grad_case("cross:-1", jnp.cross, draw(r, (2, 3), d), draw(r, (2, 3), d))
    grad_case("kron:", jnp.kron, draw(r, (2, 3), d), draw(r, (2, 2), d))
    grad_case("map_coordinates:1 reflect", lambda x, *c: jax.scipy.ndimage.map_coordinates(x, c, 1, "reflect"), draw(r, (3, 4), d),
              draw(r, (5,), d) * 3, draw(r, (5,), d) * 3)
    grad_case("polyval:", jnp.polyval, draw(r, (4,), d), draw(r, (3,), d))
    grad_case("polyint:2", lambda p: jnp.polyint(p, 2), draw(r, (4,), d))
    write("calculus")


# --- sets.h, ordering.h, places.h
def sets():
    for dtype in INTS + ("float32", "bool"):
        r = rng("sets" + dtype)
        ties = dict(ties=True)
        x, y = draw(r, (4, 6), dtype, **ties), draw(r, (9,), dtype, **ties)
        empty = np.zeros((0,), dtype)
        for v in (x, y, empty):
            case("nonzero_all:", jnp.nonzero, v, positions="all")
            case("argwhere_all:", jnp.argwhere, v, positions="all")
            case("flatnonzero_all:", jnp.flatnonzero, v, positions="all")
            case("unique_all_all:", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True), v, positions=(1, 2, 3))
            for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
                case(f"{name}_all:", getattr(jnp, name), v, y)
            for invert in (0, 1):
                case(f"isin:{invert}", lambda x, t: jnp.isin(x, t, invert=bool(invert)), v, y[:4])
        for size in (2, 7, 30):
            case(f"nonzero:{size} -1", lambda x: jnp.nonzero(x, size=size, fill_value=-1), x, positions="all")
            case(f"unique:{size}", lambda x: jnp.unique(x, size=size), x)
            if dtype != "bool":
                case(f"unique_fill:{size}", lambda x: jnp.unique(x, size=size, fill_value=3), x)
            case(f"setdiff1d:{size}", lambda x, y: jnp.setdiff1d(x, y, size=size), x, y)
            case(f"union1d:{size}", lambda x, y: jnp.union1d(x, y, size=size), x, y)
            if dtype != "bool":
                case(f"intersect1d:{size} 3", lambda x, y: jnp.intersect1d(x, y, size=size, fill_value=3), x, y)
        rows = draw(r, (6, 2), dtype, **ties)
        rows[3] = rows[1]
        rows[5] = rows[1]
        case("unique_axis:0", lambda x: jnp.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True), rows, positions=(1, 2, 3))
        case("unique_axis:1", lambda x: jnp.unique(x, axis=1, return_index=True, return_inverse=True, return_counts=True), rows.T.copy(), positions=(1, 2, 3))
        case("extract_all:", jnp.extract, draw(r, (4, 6), "bool"), x)
        case("extract:9", lambda c, x: jnp.extract(c, x, size=9, fill_value=0), draw(r, (4, 6), "bool"), x)
        case("where_all:", lambda c: jnp.where(c), draw(r, (4, 6), "bool"), positions="all")
    nans = np.array([2, np.nan, 1, np.nan, np.inf, -0.0, 0.0, 1, -np.inf], "float32")
    case("unique_all_all:", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True), nans, positions=(1, 2, 3))
    case("isin:0", jnp.isin, nans, nans[:4])
    for dtype in INTS + FLOATS:
        r = rng("order" + dtype)
        a = np.sort(draw(r, (11,), dtype, ties=True))
        v = draw(r, (3, 7), dtype, ties=True, edges=True)
        for side in ("left", "right"):
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), a, v, positions="all")
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), np.sort(draw(r, (8,), dtype, edges=True)), v, positions="all")
            case(f"searchsorted:{side}", lambda a, v: jnp.searchsorted(a, v, side=side), a[:0], v, positions="all")
        s = draw(r, (9,), dtype)
        case("searchsorted_sorter:", lambda a, v, s: jnp.searchsorted(a, v, sorter=s), s, v, np.argsort(s).astype("int32"), positions="all")
        for right in (0, 1):
            case(f"digitize:{right}", lambda x, b: jnp.digitize(x, b, bool(right)), v, np.unique(a), positions="all")
            case(f"digitize:{right}", lambda x, b: jnp.digitize(x, b, bool(right)), v, np.unique(a)[::-1].copy(), positions="all")
        k1, k2 = draw(r, (3, 8), dtype, ties=True), draw(r, (3, 8), "int32")
        for axis in (0, -1):
            case(f"lexsort:{axis}", lambda a, b: jnp.lexsort((a, b), axis), k1, k2 // 4, positions="all")
            case(f"sort_key_val:{axis}", lambda a, b: lax.sort_key_val(a, b, axis), k1, k2)
        for kth, axis in ((0, -1), (3, -1), (-2, 1), (1, 0)):
            case(f"partition:{kth} {axis}", lambda x: jnp.sort(jnp.partition(x, kth, axis), axis), k1)
        case("approx_max_k:3", lambda x: lax.approx_max_k(x.astype("float32"), 3), draw(r, (2, 9), "float32"), positions=(1,))
        case("approx_min_k:2", lambda x: lax.approx_min_k(x.astype("float32"), 2), draw(r, (2, 9), "float32"), positions=(1,))
    for dtype in INTS + ("float32",):
        r = rng("places" + dtype)
        c = [draw(r, s, dtype) for s in ((4, 5), (5,), (4, 1))]
        for mode in ("clip", "wrap"):
            case(f"choose:{mode}", lambda i, *c: jnp.choose(i, list(c), mode=mode), draw(r, (4, 5), "int32"), *c)
        x = draw(r, (4, 5), dtype)
        case("place:", lambda x, m, v: jnp.place(x, m, v, inplace=False), x, draw(r, (4, 5), "bool"), draw(r, (3,), dtype))
        order = np.argsort(r.random((4, 5)), axis=1).astype("int32")
        case("put_along_axis:1", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=1, inplace=False), x, order[:, :2] - 5, draw(r, (4, 2), dtype))
        case("put_along_axis:0", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=0, inplace=False), x,
             np.argsort(r.random((4, 5)), axis=0).astype("int64")[:1], draw(r, (), dtype))
        for i in (0, 2, -1, 9):
            at = np.array(i, "int32")
            for axis in (0, -1):
                for keep in (0, 1):
                    case(f"dynamic_index_in_dim:{axis} {keep}", lambda x, i: lax.dynamic_index_in_dim(x, i, axis, bool(keep)), x, at)
                case(f"dynamic_slice_in_dim:2 {axis}", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, axis), x, at)
                u = draw(r, (2, 5) if axis == 0 else (4, 2), dtype)
                case(f"dynamic_update_slice_in_dim:{axis}", lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, axis), x, u, at)
                u = draw(r, (5,) if axis == 0 else (4,), dtype)
                case(f"dynamic_update_index_in_dim:{axis}", lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, axis), x, u, at)
        g = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
        rows = np.array([[0], [3], [1]], "int32")
        case("gather:", lambda x, i: lax.gather(x, i, g, (1, 5)), x, rows)
        s = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
        for name in ("scatter", "scatter_add"):
            case(f"{name}:", lambda x, i, u: getattr(lax, name)(x, i, u, s), x, rows, draw(r, (3, 5), dtype))
    r = rng("unravel")
    p = r.integers(0, 24, (3, 4)).astype("int32")
    case("unravel_index:2 3 4", lambda p: jnp.unravel_index(p, (2, 3, 4)), p, positions="all")
    case("ravel_multi_index:2 3 4", lambda a, b, c: jnp.ravel_multi_index((a, b, c), (2, 3, 4), mode="clip"), p // 12, p // 4 % 3, p % 4, positions="all")
    grad_case("put_along_axis:1", lambda x, i, v: jnp.put_along_axis(x, i, v, axis=1, inplace=False), draw(r, (2, 3), "float32"),
              np.array([[1], [2]], "int32"), draw(r, (2, 1), "float32"))
    grad_case("choose:clip", lambda i, *c: jnp.choose(i, list(c), mode="clip"), np.array([0, 1, 1], "int32"), draw(r, (3,), "float32"), draw(r, (3,), "float32"))
    write("sets")


# Every function again, once in float16 and once in bfloat16: the first case of each name that has floats, with these as such.
def halves():
    global case, grad_case, write
    whole, wrote, seen = case, write, set()

    def half_case(name, f, *inputs, positions=()):
        inputs = [np.asarray(x) for x in inputs]
        if name.startswith(("grad ", "approx_")) or not any(x.dtype.kind == "f" for x in inputs):
            return
        for dtype in ("float16", "bfloat16"):
            if (name, dtype) in seen:
                continue
            seen.add((name, dtype))
            try:
                whole(name, f, *[jnp.asarray(x).astype(dtype) if x.dtype.kind == "f" else x for x in inputs], positions=positions)
            except (TypeError, ValueError) as e:  # functions that JAX has in other dtypes only
                print("not in", dtype, name, str(e)[:60])

    case, write = half_case, lambda theme: None
    grad_case = lambda name, f, *inputs: None
    for theme in (stacking, grids, numeric, statistics, calculus, sets):
        theme()
    wrote("halves")


themes = dict(stacking=stacking, grids=grids, numeric=numeric, statistics=statistics, calculus=calculus, sets=sets, halves=halves)
for theme in sys.argv[1:] or themes:
    themes[theme]()
