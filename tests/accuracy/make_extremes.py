"""Makes extremes.safetensors: special functions far out, where a formula that is exact in the middle is apt to cancel, to overflow on the
way or to need more terms than it may take. mpmath, 80 digits, rounded to a float64; parts of distributions of large parameters by
integrating their density.

    make_extremes.py [--out FOLDER]"""
import argparse
import pathlib

import mpmath as mp
import numpy as np

from make_exact import tensor_file
from make_exact import zeta as hurwitz

mp.mp.dps = 80


def beside(log_density, x, width, mode, low, high):
    """(below, above) of the density, by the tail on the side of x that has no mode."""
    z = abs(x - mode) / width
    reach = (mp.sqrt(z * z + 200) - z) * width  # the rest of the integral is less than e^-100 of it
    end = max(low, x - reach) if x < mode else min(high, x + reach)
    points = [x + (end - x) * k / 12 for k in range(13)]
    top = log_density(x)  # scales the density, because the quadrature stops at an absolute error
    part = mp.exp(top) * abs(mp.quad(lambda t: mp.exp(log_density(t) - top), points, method="gauss-legendre", maxdegree=5))
    return (part, 1 - part) if x < mode else (1 - part, part)


def gamma_parts(a, x):
    return beside(lambda t: (a - 1) * mp.log(t) - t - mp.loggamma(a), x, mp.sqrt(a), a, mp.mpf(0), mp.inf)


def betainc(a, b, x):
    whole = a + b
    constant = mp.loggamma(whole) - mp.loggamma(a) - mp.loggamma(b)
    width = mp.sqrt(a * b / whole ** 3)
    if min(a, b) < 1000:  # the limit b -> inf, exact to a^2 / b
        assert max(a, b) > 1e100
        return mp.gammainc(a, 0, -b * mp.log1p(-x), regularized=True) if a < b else mp.gammainc(b, -a * mp.log(x), mp.inf, regularized=True)
    return beside(lambda t: (a - 1) * mp.log(t) + (b - 1) * mp.log1p(-t) + constant, x, width, a / whole, mp.mpf(0), mp.mpf(1))[0]


def log_beta(a, b):
    with mp.workdps(700):
        return mp.re(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b))


def zeta(s, q):
    if s == mp.inf:
        return mp.mpf(1 if q == 1 else 0 if q > 1 else 'inf')
    return q ** (1 - s) / (s - 1) + q ** -s / 2 if q > 1e12 else mp.zeta(s, q)


def poch(z, m):
    with mp.workdps(400):
        return mp.gammaprod([z + m], [z])


def beta(a, b):
    with mp.workdps(400):
        return mp.beta(a, b)


def box_cox(x, power):
    return mp.log(x) if power == 0 else mp.expm1(power * mp.log(x)) / power


near = [1, 1 + 1e-3, 1 - 1e-3, 1 + 3e-7, 1 - 2e-9]
shapes = [(a, a * r) for a in (2e6, 1e8, 1e10, 1e14, 1e16, 1e20) for r in near] + [(a, a + z * np.sqrt(a)) for a in (1.5e6, 1e12, 1e18) for z in (-30, -6, -1, 0.5, 4, 25)]
shapes += [(1e30, 1e30), (1e30, 1.01e30), (1e100, 0.5e100), (1e300, 1.1e300), (3e6, 1e-300), (3e6, 1e300)]


def beta_shapes():
    yield 3.16e16, 3.13e18, 0.010000000000005
    for a, b in [(2e6, 2e6), (2e6, 5e9), (1e8, 3e7), (1e12, 1e12), (1e12, 5e17), (1e18, 2e17), (1e20, 1e20), (2e6, 1e28)]:
        mean, width = a / (a + b), np.sqrt(a / (a + b) * (b / (a + b)) / (a + b))
        for z in (-25, -5, -0.5, 0, 1, 6, 20):
            x = mean + z * width
            if 0 < x < 1:
                yield a, b, x
    for a, b, x in [(2.5, 1e300, 1e-300), (2.5, 1e300, 3e-300), (0.5, 1e200, 1e-200), (1e300, 2.5, 0.5), (1e300, 2.5, 1 - 2.0 ** -53), (300, 1e150, 2.8e-148)]:
        yield a, b, x


tables = {
    "gammainc": (shapes, lambda a, x: gamma_parts(a, x)[0]),
    "gammaincc": (shapes, lambda a, x: gamma_parts(a, x)[1]),
    "betainc": (list(beta_shapes()), betainc),
    "zeta": ([(np.inf, 1), (np.inf, 1.5), (np.inf, 0.5), (1.1, 1e300), (1 + 1e-10, 1e300), (2, 1e150), (1.5, 1e20), (20, 1e15), (1.0001, 1e16), (300, 1), (1e300, 1), (1e300, 2)], zeta),
    "betaln": ([(1e300, 2), (2, 1e300), (1e300, 1e300), (1e300, 1e290), (1e300, 0.5), (1e300, 1e-300), (1e-300, 1e-300), (1e-300, 3), (1e-300, 1e20), (1e280, 40), (-0.5, 1e20),
                (1e15, -3.25), (1e300, -0.5), (1e290, 1e200)], log_beta),
    "beta": ([(1e300, 2), (1e-300, 1e300), (1e-305, 5), (1e-300, 2e-300), (-0.5, 1e20), (-2.5, 1e10), (1e12, -0.75), (0.01, 1e300)], beta),
    "poch": ([(1e20, 2), (1e15, 3.5), (1e12, -4), (1e300, 1), (1e300, 0.5), (1e300, -1), (1e100, 3), (-1e9 - 0.5, 2), (-3e12 - 0.25, 1.5), (-1e12, 2), (5e7, 30)], poch),
    "comb": ([(1e300, 1), (1e280, 1), (1e300, 1.01), (1e300, 0), (1e300, 1e300), (1e100, 3), (1e20, 5), (1e300, 5)], lambda n, k: mp.mpf(0) if n < k else mp.power(n, k) / mp.gamma(k + 1) if n >= 1e100 and k < 10 else mp.mpf(1) if n == k else mp.binomial(n, k)),
    "boxcox": ([(10, 1000), (10, -1000), (1e300, 3), (1e-300, 3), (1e-300, -3), (2, 1e300), (0.5, 1e300), (2, -1e300), (1e300, 1e-300), (3, 1e-20)], box_cox),
    "rel_entr": ([(1e300, 1e-300), (1e-300, 1e300), (1e-300, 1e-10), (1e250, 1e-250), (1e-250, 1e250)], lambda x, y: x * mp.log(x / y)),
    "polygamma (100)": ([(2000.0,), (150.0,), (40.0,), (1e4,), (0.5,)], lambda x: -mp.factorial(100) * hurwitz(mp.mpf(101), x)),
    "polygamma (50)": ([(1e6,), (1e7,), (3.0,), (200.0,)], lambda x: -mp.factorial(50) * hurwitz(mp.mpf(51), x)),
    "hyp1f1": ([(100.5, 1000.25, 1000), (100.5, 1000.25, -1000), (10.5, 300.5, 1200), (1.25, 1e5, 5000), (-20.5, 0.75, -300), (1e300, 1, 1e-300), (1e-300, 1, 5), (5, 1e300, 700)],
               lambda a, b, x: mp.hyp1f1(a, b, x) if max(abs(a), abs(b)) < 1e100 else mp.exp(a * x) * 0 + (mp.besseli(0, 2 * mp.sqrt(a * x)) if a > 1e100 else mp.mpf(1))),
}
# Subnormal and infinite results are not compared by relative error.
least, most = mp.mpf(2) ** -1000, mp.mpf(2) ** 1023

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = {}
    for name, (points, exact) in tables.items():
        rows = []
        for point in points:
            point = [float(p) for p in point]
            r = exact(*[mp.mpf(p) for p in point])
            r = 0.0 if abs(r) < least else float(mp.sign(r)) * float("inf") if abs(r) > most else float(r)
            if name not in ("gammainc", "gammaincc", "betainc") or r == 0 or r > 1e-40:  # deep tails are left out
                rows.append(point + [r])
        out[name] = np.array(rows)
        print(name, len(rows), flush=True)
    tensor_file.write(parser.parse_args().out / "extremes.safetensors", out)
