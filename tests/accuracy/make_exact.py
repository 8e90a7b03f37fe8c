"""Makes the operands of special functions and their exact results for bench/accuracy.cc and tests/accuracy: mpmath, 50 digits, rounded to a
float64 and to what that lacks, as a part of it. The sample that is committed is small; the published one is `--points 10`.

    make_exact.py [--points N] [--out FOLDER] [function...]

The operands cover the domain by their exponents, and lie densely where functions change: each sampler names its parts."""
import argparse
import multiprocessing
import pathlib
import sys
import zlib

import ml_dtypes
import mpmath as mp
import numpy as np
import scipy.special

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import tensor_file

mp.mp.dps = 50
POINTS = {"float64": 400, "float32": 200, "float16": 80, "bfloat16": 80}


# The oracles: sums and continued fractions of positive terms, which do not cancel.
def log_factor(a, x):
    return a * mp.log(x) - x - mp.loggamma(a + 1)


def lower_series(a, x):
    term, total, n = mp.mpf(1), mp.mpf(1), 0
    while term > total * mp.eps:
        n += 1
        term *= x / (a + n)
        total += term
    return mp.exp(log_factor(a, x)) * total


def fraction(start, tops):
    """start + tops[0] / (b0 + ...) by Lentz's algorithm, of pairs of top and bottom."""
    f, c, d = start, start, mp.mpf(0)
    for top, bottom in tops:
        d = 1 / (bottom + top * d)
        c = bottom + top / c
        f *= c * d
        if abs(c * d - 1) < mp.eps * 16:
            return f
    raise ArithmeticError


def upper_fraction(a, x):
    def steps():
        n = 0
        while n < 200000:
            n += 1
            yield n * (a - n), x + 1 - a + 2 * n
    return mp.exp(log_factor(a, x)) * a / fraction(x + 1 - a, steps())


def incomplete(a, x, upper):
    with mp.workdps(70):
        if x > a + 1 and x > 2:
            r = upper_fraction(a, x)
            return +(r if upper else 1 - r)
        r = lower_series(a, x)
        if not upper:
            return +r
        lost = -mp.log10(1 - r) if r < 1 else 70
    with mp.workdps(80 + int(max(lost, -mp.log10(a), 0))):
        return 1 - lower_series(a, x)


def beta_below(a, b, x):
    def steps():
        n = 0
        yield -(a + b) * x / (a + 1), mp.mpf(1)
        while n < 200000:
            n += 1
            yield n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)), mp.mpf(1)
            yield -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)), mp.mpf(1)
    factor = a * mp.log(x) + b * mp.log1p(-x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b)
    return mp.exp(factor) / a / fraction(mp.mpf(1), steps())


def betainc(a, b, x):
    with mp.workdps(80):
        if x <= (a + 1) / (a + b + 2):
            return +beta_below(a, b, x)
        r = beta_below(b, a, 1 - x)
        lost = -mp.log10(1 - r)
    with mp.workdps(80 + int(max(lost, 0))):
        return 1 - beta_below(b, a, 1 - x)


def zeta(s, q):
    """The Euler-Maclaurin sum (DLMF 25.11.5)."""
    with mp.workdps(60):
        n = 60 + int(s)
        a, total = q + n, mp.fsum((q + k) ** -s for k in range(n))
        total += a ** (1 - s) / (s - 1) + a ** -s / 2
        rising, power = s, a ** (-s - 1)
        for j in range(1, 40):
            total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * rising * power
            rising *= (s + 2 * j - 1) * (s + 2 * j)
            power /= a * a
        return +total


def polygamma(n):
    return lambda x: (-1) ** (n + 1) * mp.factorial(n) * zeta(mp.mpf(n + 1), x)


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def ndtri(p):
    if p > 0.5:
        return -ndtri(1 - p)
    x, log_p = mp.mpf(float(scipy.special.ndtri(float(p)))), mp.log(p)
    for _ in range(4):
        at = log_ndtr(x)
        x -= (at - log_p) * mp.exp(at + x * x / 2) * mp.sqrt(2 * mp.pi)
    return x


def multigammaln(d):
    return lambda x: mp.mpf(d * (d - 1)) / 4 * mp.log(mp.pi) + mp.fsum(mp.loggamma(x - mp.mpf(k) / 2) for k in range(d))


def erfcx(x):
    if x > 1000:
        return mp.fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12)) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


def dawsn(x):
    if abs(x) > 1000:
        return mp.fsum(mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12)) / (2 * x)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def expn(n):
    return lambda x: mp.expint(n, x)


def ratio_of_gammas(z, m):
    with mp.workdps(90):
        return mp.gamma(z + m) / mp.gamma(z)


def binomial(n, k):
    with mp.workdps(90):
        return mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1))


def power_transform(of_log):
    return lambda x, power: mp.expm1(power * of_log(x)) / power


def owens_t(h, a):
    def f(t):  # the factor exp(-h^2 / 2) comes last, so that the error of the quadrature stays relative
        return mp.exp(-h * h * t * t / 2) / (1 + t * t)
    with mp.workdps(30):
        end = min(abs(a), 14 / abs(h))
        ends = mp.linspace(0, end, 12) if end < 3 else [0] + [end * mp.mpf(2) ** -k for k in range(int(mp.log(end, 2)) + 4, -1, -1)]
        return mp.sign(a) * mp.quad(f, ends) * mp.exp(-h * h / 2) / (2 * mp.pi)


def harmonic(n, m):
    size = mp.sqrt(mp.mpf(2 * n + 1) / (4 * mp.pi) * mp.factorial(n - m) / mp.factorial(n + m))

    def f(theta):
        x, before, at = mp.cos(theta), mp.mpf(0), mp.fac2(2 * m - 1) * (-mp.sin(theta)) ** m
        for k in range(m + 1, n + 1):
            before, at = at, ((2 * k - 1) * x * at - (k + m - 1) * before) / (k - m)
        return size * at
    return f


# The operands: of n numbers of the generator r.
def by_exponent(lo, hi):
    return lambda r, n: np.exp(r.uniform(np.log(lo), np.log(hi), n))


def signed(f):
    return lambda r, n: f(r, n) * r.choice([-1, 1], n)


def between(lo, hi):
    return lambda r, n: r.uniform(lo, hi, n)


def near(x, size=0.1):
    return lambda r, n: x * (1 + size * r.standard_normal(n) * np.exp(r.uniform(-12, 0, n)))


def any_of(*parts):
    def draw(r, n):
        columns = [p(r, n) for p in parts]
        return np.choose(r.integers(0, len(parts), n), columns)
    return draw


def one(*parts):
    draw = any_of(*parts)
    return lambda r, n: (draw(r, n),)


def both(f, g):
    return lambda r, n: (f(r, n), g(r, n))


def of_gamma(r, n):
    a = any_of(by_exponent(1e-8, 1e5), by_exponent(1e-2, 300), between(0, 20))(r, n)
    x = np.choose(r.integers(0, 4, n), [a * by_exponent(0.01, 100)(r, n), a + np.sqrt(a) * 3 * r.standard_normal(n),
                                        by_exponent(1e-10, 1e4)(r, n), between(0, 20)(r, n)])
    return a, np.abs(x)


def of_beta(r, n):
    a, b = (any_of(by_exponent(1e-3, 1e4), between(0, 20))(r, n) for _ in range(2))
    mean = a / (a + b)
    x = mean + 2 * np.sqrt(mean * (1 - mean) / (a + b + 1)) * r.standard_normal(n)
    x = np.where((x > 0) & (x < 1), x, 0.5)
    return a, b, np.choose(r.integers(0, 4, n), [x, r.random(n), by_exponent(1e-10, 1)(r, n), 1 - by_exponent(1e-10, 1)(r, n)])


def of_comb(r, n):
    whole = any_of(between(0, 60), between(0, 1000), lambda r, n: np.floor(between(0, 60)(r, n)), by_exponent(1, 1e10))(r, n)
    part = np.where(whole < 1000, whole * r.random(n), 10 * r.random(n))
    return whole, np.where(r.random(n) < 0.5, np.floor(part) + 1, part)


def of_poch(r, n):
    z = any_of(between(0, 20), by_exponent(1e-3, 1e4))(r, n)
    return z, np.choose(r.integers(0, 4, n), [between(0, 20)(r, n), np.floor(between(1, 20)(r, n)), -z * r.random(n), by_exponent(1e-8, 30)(r, n)])


def of_ratio(r, n):
    x = by_exponent(1e-6, 1e6)(r, n)
    return x, np.where(r.random(n) < 0.5, x * (1 + np.exp(r.uniform(-20, 0, n)) * r.choice([-1, 1], n)), by_exponent(1e-6, 1e6)(r, n))


def of_kummer(r, n):
    a, b, x = between(0.1, 30)(r, n), between(0.1, 30)(r, n), any_of(signed(by_exponent(1e-3, 500)), signed(between(0, 50)))(r, n)
    return a, np.where(x < 0, a + b, b), x  # below zero its terms cancel where a > b


def of_gauss(r, n):
    a, b, c = (between(0.1, 10)(r, n) for _ in range(3))
    x = any_of(between(-1, 1), lambda r, n: 1 - by_exponent(1e-12, 1)(r, n), lambda r, n: -by_exponent(0.1, 1e4)(r, n))(r, n)
    return a, b, np.where(x < 0, np.maximum(a, b) + c, c), x  # below zero its terms cancel where c is less


probabilities = one(between(0, 1), by_exponent(1e-300, 0.5), lambda r, n: 1 - by_exponent(1e-14, 0.5)(r, n), near(0.5))
positive = any_of(by_exponent(1e-5, 1e8), between(0, 30))
scaled = one(signed(by_exponent(1e-10, 1e10)), signed(between(0, 40)))
plain = one(signed(by_exponent(1e-10, 713)), signed(between(0, 40)))
FUNCTIONS = {
    "gamma": (mp.gamma, one(by_exponent(1e-300, 171.5), between(-170, 171), between(-3, 10))),
    "betaln": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
               both(any_of(by_exponent(1e-10, 1e10), between(0, 20)), any_of(by_exponent(1e-10, 1e10), between(0, 20)))),
    "digamma": (mp.digamma, one(signed(by_exponent(1e-30, 1e30)), between(-30, 30), near(1.4616321449683623), near(1.4616321449683623, 1e-6))),
    "multigammaln (3)": (multigammaln(3), lambda r, n: (1 + any_of(by_exponent(1e-5, 1e6), between(0, 10))(r, n),)),
    "zeta": (zeta, both(lambda r, n: 1 + by_exponent(1e-5, 150)(r, n), any_of(by_exponent(1e-2, 1e6), between(0, 20)))),
    "polygamma (1)": (polygamma(1), one(positive)),
    "polygamma (2)": (polygamma(2), one(positive)),
    "polygamma (9)": (polygamma(9), one(positive)),
    "gammainc": (lambda a, x: incomplete(a, x, False), of_gamma),
    "gammaincc": (lambda a, x: incomplete(a, x, True), of_gamma),
    "betainc": (betainc, of_beta),
    "expi": (mp.ei, one(signed(by_exponent(1e-300, 700)), signed(between(0, 60)), near(0.37250741078136663))),
    "exp1": (mp.e1, one(by_exponent(1e-300, 700), between(0, 60))),
    "expn (2)": (expn(2), one(by_exponent(1e-10, 700), between(0, 20), near(1))),
    "expn (9)": (expn(9), one(by_exponent(1e-10, 700), between(0, 20), near(1))),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, one(by_exponent(1e-30, 1e30), between(0, 3), near(1))),
    "erfcx": (erfcx, one(between(-26.6, 30), between(-3, 10), signed(by_exponent(1e-10, 20)), by_exponent(1e-10, 1e150))),
    "dawsn": (dawsn, one(signed(between(0, 20)), signed(by_exponent(1e-10, 1e150)), signed(between(0, 3)))),
    "poch": (ratio_of_gammas, of_poch),
    "comb": (binomial, of_comb),
    "beta": (lambda a, b: mp.beta(a, b), both(any_of(by_exponent(1e-10, 300), between(0, 20)), any_of(by_exponent(1e-10, 300), between(0, 20)))),
    "boxcox": (power_transform(mp.log), both(any_of(by_exponent(1e-6, 1e6), near(1)), signed(by_exponent(1e-8, 20)))),
    "boxcox1p": (power_transform(mp.log1p), both(any_of(by_exponent(1e-10, 1e6), between(-1, 1)), signed(by_exponent(1e-8, 20)))),
    "i0": (lambda x: mp.besseli(0, x), plain),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), scaled),
    "i1": (lambda x: mp.besseli(1, x), plain),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), scaled),
    "ndtr": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, one(between(-38, 9), between(-4, 4), signed(by_exponent(1e-10, 5)))),
    "log_ndtr": (log_ndtr, one(between(-38, 9), between(-4, 4), signed(by_exponent(1e-10, 5)), lambda r, n: -by_exponent(5, 1e10)(r, n))),
    "ndtri": (ndtri, probabilities),
    "logit": (lambda x: mp.log(x / (1 - x)), probabilities),
    "xlogy": (lambda x, y: x * mp.log(y), both(signed(by_exponent(1e-6, 1e6)), any_of(by_exponent(1e-300, 1e300), near(1)))),
    "xlog1py": (lambda x, y: x * mp.log1p(y), both(signed(by_exponent(1e-6, 1e6)), any_of(by_exponent(1e-30, 1e300), between(-1, 1)))),
    "entr": (lambda x: -x * mp.log(x), one(by_exponent(1e-300, 1e300), near(1), between(0, 2))),
    "loggamma": (mp.loggamma, one(by_exponent(1e-10, 1e10), between(0, 20), near(1), near(2))),
    "sici (Si)": (mp.si, one(signed(by_exponent(1e-10, 1e6)), signed(between(0, 30)))),
    "sici (Ci)": (lambda x: mp.re(mp.ci(abs(x))), one(signed(by_exponent(1e-10, 1e6)), signed(between(0, 30)), near(0.6165054856207163))),
    "fresnel (S)": (mp.fresnels, one(signed(by_exponent(1e-6, 1e3)), signed(between(0, 10)))),
    "fresnel (C)": (mp.fresnelc, one(signed(by_exponent(1e-6, 1e3)), signed(between(0, 10)))),
    "owens_t": (owens_t, both(signed(any_of(by_exponent(1e-5, 30), between(0, 8))), signed(any_of(by_exponent(1e-5, 1e3), between(0, 3))))),
    "hyp1f1": (mp.hyp1f1, of_kummer),
    "hyp2f1": (mp.hyp2f1, of_gauss),
    "bessel_jn (5)": (lambda x: mp.besselj(5, x), one(signed(by_exponent(1e-3, 1e4)), signed(between(0, 60)))),
    "sph_harm_y (7, 3)": (harmonic(7, 3), one(between(0, 3.14159))),
    "rel_entr": (lambda x, y: x * mp.log(x / y), of_ratio),
    "kl_div": (lambda x, y: x * mp.log(x / y) - x + y, of_ratio),
}


# Where arguments below zero give what is little beside its parts, units are those of the parts.
LEAST = {"digamma": lambda x: max(abs(mp.digamma(1 - x)), abs(mp.digamma(1 - x) - mp.digamma(x))) if x < 0 else 0,
         # And beside zeros of what oscillates of its size.
         "sici (Ci)": lambda x: 1 / abs(x) if abs(x) > 4 else 0, "bessel_jn (5)": lambda x: mp.sqrt(2 / (mp.pi * abs(x))) if abs(x) > 5 else 0,
         "sph_harm_y (7, 3)": lambda x: 0.3 if abs(mp.sin(x)) > 0.1 else 0}


def exact(task):
    name, operands = task
    return FUNCTIONS[name][0](*map(mp.mpf, operands))


def sampled(pool, name, dtype, count):
    t = getattr(ml_dtypes, dtype) if dtype == "bfloat16" else np.dtype(dtype)
    r = np.random.default_rng(zlib.crc32((name + dtype).encode()))
    with np.errstate(all="ignore"):
        columns = [c.astype(t) for c in FUNCTIONS[name][1](r, 4 * count)]
    wide = [c.astype(np.float64) for c in columns]
    kept = np.all([np.isfinite(c) & (c != 0) for c in wide], axis=0)
    if name in ("betainc", "ndtri", "logit"):
        kept &= wide[-1] < 1
    if name in ("gamma", "digamma"):
        kept &= (wide[0] > 0) | (wide[0] != np.floor(wide[0]))
    if name == "loggamma":
        kept &= wide[0] > 0
    if name == "hyp2f1":
        kept &= wide[3] < 1
    if name in ("xlog1py", "multigammaln (3)", "zeta"):
        kept &= wide[-1] > {"xlog1py": -1, "zeta": 0}.get(name, 1)
        kept &= (wide[0] > 1) | (name != "zeta")
    if name == "boxcox1p":
        kept &= wide[0] > -1
    if name == "comb":
        kept &= wide[0] >= wide[1]
    if name == "poch":
        kept &= (wide[0] > 0) & (wide[0] + wide[1] > 0)
    if name == "kl_div":
        kept &= wide[0] != wide[1]
    rows = np.flatnonzero(kept)[:count]
    results = list(pool.imap(exact, [(name, [float(c[i]) for c in wide]) for i in rows], 16))
    high = np.array([float(v) for v in results])
    good = high != 0
    part = [float((v - mp.mpf(h)) / mp.mpf(h)) if h and np.isfinite(h) else 0 for v, h in zip(results, high.tolist())]
    if name in LEAST:
        least = np.array([float(LEAST[name](mp.mpf(float(wide[0][i])))) for i in rows], np.float32)[good]
        return {"in0": columns[0][rows][good], "high": high[good], "part": np.array(part, np.float32)[good], "least": least}
    out = {f"in{k}": c[rows][good] for k, c in enumerate(columns)} | {"high": high[good]}
    return out | ({"part": np.array(part, np.float32)[good]} if dtype == "float64" else {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1, help="so many times the sample that is committed")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("functions", nargs="*")
    given = parser.parse_args()
    names = [n for n in FUNCTIONS if not given.functions or n in given.functions]
    two = [n for n in names if n in ("zeta", "gammainc", "gammaincc", "betainc", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div")]
    further = [n for n in names if n in ("exp1", "expn (2)", "expn (9)", "spence", "erfcx", "dawsn", "poch", "comb", "beta", "boxcox", "boxcox1p")]
    integrals = [n for n in names if n.split()[0] in ("loggamma", "sici", "fresnel", "owens_t", "hyp1f1", "hyp2f1", "bessel_jn", "sph_harm_y")]
    first = [n for n in names if n not in two + further + integrals]
    with multiprocessing.Pool(2) as pool:
        for file, members in (("exact_several", two), ("exact", first), ("exact_further", further), ("exact_integrals", integrals)):
            if not members:
                continue
            tensors = {}
            for name in members:
                for dtype, count in POINTS.items():
                    tensors |= {f"{name}/{dtype}/{k}": v for k, v in sampled(pool, name, dtype, count * given.points).items()}
                print(name, flush=True)
            tensor_file.write(given.out / f"{file}.safetensors", tensors)


if __name__ == "__main__":
    main()
