"""Makes the operands of functions of complex numbers and their exact results for bench/accuracy.cc and tests/accuracy, as make_exact.py does
for real ones: mpmath, with as many digits as make both parts of a result certain. The sample that is committed is small; the published one is
`--points 10`.

    make_complex.py [--points N] [--out FOLDER] [function...]

A zero part of an operand has a sign, which mpmath's numbers lack: it stands for a number of that sign that is too small to matter. Results
at infinities and NaN are those of NumPy, which are C99's (Annex G); what C99 leaves open is left out."""
import argparse
import math
import multiprocessing
import pathlib
import zlib

import mpmath as mp
import numpy as np

from make_exact import tensor_file

POINTS = {"complex128": 130, "complex64": 80}
LADDER = (60, 250, 1000, 2600)


class Uncertain(Exception):
    pass


def agree(a, b):
    return b != 0 and abs(a - b) <= abs(b) * mp.mpf(10) ** -30


def magnitude(z):
    return mp.mpc(abs(z))


def log1p(z):
    """Computes the parts separately, because rounding 1 + z loses digits of a small z."""
    return mp.mpc(mp.log1p(2 * z.real + z.real ** 2 + z.imag ** 2) / 2, mp.atan2(z.imag, 1 + z.real))


def certain(f, operands):
    """f of the operands, with both parts right to 30 digits."""
    before = None
    for digits in LADDER:
        with mp.workdps(digits):
            w = mp.mpc(f(*operands))
        if before is not None and agree(before.real, w.real) and (f is magnitude or agree(before.imag, w.imag)):
            return w
        before = w
    raise Uncertain


def perturbed(z, little):
    def part(x):
        return mp.mpf(x) if x else mp.mpf(math.copysign(1, x)) * mp.mpf(10) ** -little
    return mp.mpc(part(z.real), part(z.imag))


def limit(first, second):
    """Of a part with a little number instead of a zero, and with a less one."""
    if first == 0 or abs(second) < abs(first) * mp.mpf(10) ** -10:
        return -0.0 if first < 0 else 0.0
    if abs(second) > abs(first) * mp.mpf(10) ** 10:
        raise Uncertain
    return second


def exact(task):
    """The parts as float64 and what that lacks, as a part of it; None where they are not certain."""
    name, operands = task
    f = FUNCTIONS[name][0]
    try:
        if all(z.real and z.imag for z in operands) or name in PLAIN:
            w = certain(f, [mp.mpc(z) for z in operands])
            parts = [w.real, w.imag]
            if name in PLAIN and not all(parts[:1 if name == "abs" else 2]):
                return None
        else:
            ends = [certain(f, [perturbed(z, little) for z in operands]) for little in (100, 130)]
            parts = [limit(ends[0].real, ends[1].real), limit(ends[0].imag, ends[1].imag)]
    except (Uncertain, ZeroDivisionError, OverflowError, ValueError):
        return None
    high, rest = [], []
    for p in parts:
        try:
            h = float(p)
        except OverflowError:
            h = math.copysign(math.inf, p)
        if h == 0:
            h = math.copysign(0.0, p if p else math.copysign(1, p))
        high.append(h)
        rest.append(float((mp.mpf(p) - h) / h) if h and math.isfinite(h) else 0.0)
    return high, rest


# The operands: of n numbers of the generator r, for parts up to 10 ** most.
def sign(r, n):
    return r.choice([-1.0, 1.0], n)


def parts_of(lo, hi):
    def draw(r, n, most):
        a, b = (np.exp(r.uniform(np.log(lo), np.log(hi), n)) * sign(r, n) for _ in range(2))
        return a + 1j * b
    return draw


def wide(r, n, most):
    with np.errstate(all="ignore"):
        a, b = (10.0 ** r.uniform(-most, most, n) * sign(r, n) for _ in range(2))
    out = np.empty(n, complex)
    out.real, out.imag = a, b
    return out


def within(r, n, most):
    """Of which products and quotients neither overflow nor are subnormal."""
    return wide(r, n, most / 4)


def moderate(r, n, most):
    return r.uniform(-3, 3, n) + 1j * r.uniform(-3, 3, n)


def joined(a, b):
    out = np.empty(len(a), complex)
    out.real, out.imag = a, b
    return out


def beside_axes(r, n, most):
    """Operands of which one part is zero, of either sign, or next to zero."""
    main = np.exp(r.uniform(np.log(0.01), np.log(100), n)) * sign(r, n)
    little = np.choose(r.integers(0, 3, n), [np.zeros(n), 10.0 ** r.uniform(-most, -10, n), 10.0 ** r.uniform(-10, -1, n)]) * sign(r, n)
    swap = r.random(n) < 0.5
    return joined(np.where(swap, main, little), np.where(swap, little, main))


def around(*centers):
    def draw(r, n, most):
        c = np.array(centers)[r.integers(0, len(centers), n)]
        return c + 10.0 ** r.uniform(-16, -0.5, n) * np.exp(1j * r.uniform(-np.pi, np.pi, n))
    return draw


def circle(center=0):
    """Operands at the distance one from there."""
    def draw(r, n, most):
        size = 1 + np.where(r.random(n) < 0.5, 0, 10.0 ** r.uniform(-16, -1, n) * sign(r, n))
        return size * np.exp(1j * r.uniform(-np.pi, np.pi, n)) + center
    return draw


def overflowing(turn):
    """The exponential's ends, in the real part or turned into the imaginary one."""
    def draw(r, n, most):
        end = 709.78 if most > 100 else 88.72
        a, b = (end + r.choice([-0.05, 0.5, 12, -2, 30], n) * r.random(n)) * sign(r, n), r.uniform(-10, 10, n)
        return joined(b, a) if turn else joined(a, b)
    return draw


COMMON = (parts_of(1e-8, 1e3), moderate, beside_axes)
PI = np.pi
GROWS = [k * PI * 1j for k in range(-4, 5)]
TURNS = [k * PI / 2 for k in range(-8, 9)]
BRANCH = [1, -1]


def unary(f, *more, common=COMMON):
    return f, common + more


NEAR = (parts_of(1e-3, 20), moderate)


FUNCTIONS = {
    "loggamma": unary(mp.loggamma, around(1, 2), common=(parts_of(1e-3, 1e3), moderate)),
    "wofz": unary(lambda z: mp.exp(-z * z) * mp.erfc(z * mp.mpc(0, -1)), common=NEAR),
    "sqrt": unary(mp.sqrt, wide),
    "rsqrt": unary(lambda z: 1 / mp.sqrt(z), wide),
    "exp": unary(mp.exp, overflowing(False), around(*[g / 2 for g in GROWS])),
    "exp2": unary(lambda z: mp.exp(z * mp.log(2)), around(0)),
    "expm1": unary(lambda z: mp.exp(z) - 1, overflowing(False), around(*GROWS), around(0)),
    "log": unary(mp.log, wide, circle(), around(1, -1, 1j)),
    "log1p": unary(log1p, wide, circle(-1), around(0), around(-1, -2)),
    "sigmoid": unary(lambda z: 1 / (1 + mp.exp(-z)), overflowing(False), around(*GROWS)),
    "sin": unary(mp.sin, overflowing(True), around(*TURNS)),
    "cos": unary(mp.cos, overflowing(True), around(*TURNS)),
    "tan": unary(mp.tan, overflowing(True), around(*TURNS)),
    "arcsin": unary(mp.asin, wide, around(*BRANCH), circle()),
    "arccos": unary(mp.acos, wide, around(*BRANCH), circle()),
    "arctan": unary(mp.atan, wide, around(1j, -1j), circle()),
    "sinh": unary(mp.sinh, overflowing(False), around(*[t * 1j for t in TURNS])),
    "cosh": unary(mp.cosh, overflowing(False), around(*[t * 1j for t in TURNS])),
    "tanh": unary(mp.tanh, overflowing(False), around(*[t * 1j for t in TURNS])),
    "arcsinh": unary(mp.asinh, wide, around(1j, -1j), circle()),
    "arccosh": unary(mp.acosh, wide, around(*BRANCH), circle()),
    "arctanh": unary(mp.atanh, wide, around(*BRANCH), circle()),
    "abs": unary(magnitude, wide),
    "sign": unary(lambda z: z / abs(z), wide),
    "reciprocal": unary(lambda z: 1 / z, within),
    "square": unary(lambda z: z * z, circle()),
    "power": (lambda z, w: mp.exp(w * mp.log(z)), (parts_of(1e-3, 1e3), moderate, circle())),
    "multiply": (lambda z, w: z * w, (parts_of(1e-8, 1e3), moderate, within)),
    "divide": (lambda z, w: z / w, (parts_of(1e-8, 1e3), moderate, within)),
}
PLAIN = ("multiply", "divide", "power", "square", "abs", "reciprocal", "sign")
TWO = ("multiply", "divide", "power")


def columns(name, dtype, count, r):
    t = np.dtype(dtype)
    real = np.float64 if dtype == "complex128" else np.float32
    drawn = []
    for _ in range(2 if name in TWO else 1):
        parts = FUNCTIONS[name][1]
        kind = r.integers(0, len(parts), count)
        with np.errstate(all="ignore"):
            z = np.empty(count, complex)
            for i, p in enumerate(parts):
                of_kind = p(r, count, 300 if real == np.float64 else 37)
                z[kind == i] = of_kind[kind == i]
            drawn.append(z.astype(t))
    return drawn


def sampled(pool, name, dtype, count):
    r = np.random.default_rng(zlib.crc32((name + dtype).encode()))
    drawn = columns(name, dtype, 2 * count, r)
    tasks = [(name, [complex(c[i]) for c in drawn]) for i in range(2 * count)]
    results = pool.map(exact, tasks, 8)
    rows = [i for i, v in enumerate(results) if v][:count]
    out = {f"in{k}": c[rows].view(np.float64 if dtype == "complex128" else np.float32).reshape(-1, 2) for k, c in enumerate(drawn)}
    out["high"] = np.array([results[i][0] for i in rows])
    if dtype == "complex128":
        out["part"] = np.array([results[i][1] for i in rows], np.float32)
    return out


# What C99 fixes at infinities, NaN and zeros: where NumPy's functions stand for the ones named.
ENDS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


def special(name):
    if name in PLAIN or not hasattr(np, name) or name in ("exp2", "expm1", "log1p"):
        return {}
    f, points, results = getattr(np, name), [], []
    for a in ENDS:
        for b in ENDS:
            if math.isfinite(a) and math.isfinite(b) and a and b:
                continue
            with np.errstate(all="ignore"):
                w = f(np.complex128(complex(a, b)))
            points.append((a, b))
            results.append((w.real, w.imag))
    return {"in0": np.array(points, np.float32), "high": np.array(results)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1, help="so many times the sample that is committed")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("functions", nargs="*")
    given = parser.parse_args()
    tensors = {}
    with multiprocessing.Pool(2) as pool:
        for name in [n for n in FUNCTIONS if not given.functions or n in given.functions]:
            for dtype, count in POINTS.items():
                tensors |= {f"{name}/{dtype}/{k}": v for k, v in sampled(pool, name, dtype, count * given.points).items()}
            tensors |= {f"{name}/special/{k}": v for k, v in special(name).items()}
            print(name, flush=True)
    tensor_file.write(given.out / "exact_complex.safetensors", tensors)


if __name__ == "__main__":
    main()
