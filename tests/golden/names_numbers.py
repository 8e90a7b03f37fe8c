"""Cases of functions that compute with numbers: elementwise, statistics, calculus and polynomials."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from names_case import FLOATS, INTS, case, draw, grad_case, rng, write


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
                    whole = dtype == "int32" and name in ("nansum", "nanprod")  # Tessera sums integers in 32 bits
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
