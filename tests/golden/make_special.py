"""Makes names_special.safetensors: special functions of drawn float32 and float64 arguments, and their derivatives, to 40 digits by mpmath
1.3 or later, rounded once. They are stored as in make_names.py; the cases `grad f` are derivatives times the weights in names_test.cc."""
import pathlib
import zlib

import mpmath as mp
import numpy as np

import tensor_file

mp.mp.dps = 40
tensors = {}
inf, nan = mp.inf, mp.nan


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 5 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def ndtri(p):
    if p in (0, 1):
        return -inf if p == 0 else inf
    start = mp.sqrt(2) * mp.erfinv(2 * p - 1) if p > mp.mpf("1e-30") else -mp.sqrt(-2 * mp.log(p))
    return mp.findroot(lambda x: log_ndtr(x) - mp.log(p), start) if p < 0.5 else start


def lower(a, x):
    if x == 0:
        return mp.mpf(0)
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.mpf(1) if x == 0 else mp.gammainc(a, x, mp.inf, regularized=True)


def relative(x, y):
    return mp.mpf(0) if x == 0 else x * mp.log(x / y)


def xlogy(x, y):
    return mp.mpf(0) if x == 0 else x * mp.log(y)


def owens_t(h, a):
    def f(t):
        return mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t)
    end = min(abs(a), max(mp.mpf(4), 20 / abs(h))) if h else abs(a)
    return mp.sign(a) * mp.quad(f, [end * mp.mpf(2) ** -k for k in range(40, -1, -1)] if end > 4 else mp.linspace(0, end, 60)) / (2 * mp.pi) \
        + (mp.sign(a) * end * mp.mpf(2) ** -40 * mp.exp(-h * h / 2) / (2 * mp.pi) if end > 4 else 0)


def harmonic(n, m):
    """Uses the sum of DLMF 14.7.10 and 14.30.1, with the phase of Condon and Shortley."""
    def f(theta, phi):
        k, x = abs(m), mp.cos(theta)
        legendre = (-1) ** k * mp.sin(theta) ** k * mp.diff(lambda t: mp.legendre(n, t), x, k) if k else mp.legendre(n, x)
        size = mp.sqrt(mp.mpf(2 * n + 1) / (4 * mp.pi) * mp.factorial(n - k) / mp.factorial(n + k)) * legendre
        return size * (-1 if m < 0 and k % 2 else 1) * mp.expj(m * phi)
    return f


def parts(f):
    return lambda *x: (mp.re(f(*x)), mp.im(f(*x)))


def faddeeva(x, y):
    z = mp.mpc(x, y)
    with mp.workdps(400):
        return mp.exp(-z * z) * mp.erfc(mp.mpc(y, -x))


ONE = {
    "gamma": (mp.gamma, [0.5, 1, 2.5, 5, 10.1, 20.7, 30, -0.5, -1.5, -2.3, 1e-3]),
    "expi": (mp.ei, [1e-3, 0.1, 0.5, 1, 2.5, 7, 20, 39.5, 45, 80, -1e-3, -0.3, -0.99, -1.01, -2, -5, -20, -60]),
    "i0": (lambda x: mp.besseli(0, x), [0, 1e-3, 0.5, 1, 3.3, 9, 19.9, 20.1, 45, 80, -2.5]),
    "i1": (lambda x: mp.besseli(1, x), [0, 1e-3, 0.5, 1, 3.3, 9, 19.9, 20.1, 45, 80, -2.5]),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [0, 1e-3, 0.5, 1, 3.3, 9, 19.9, 20.1, 45, 800, -2.5]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [0, 1e-3, 0.5, 1, 3.3, 9, 19.9, 20.1, 45, 800, -2.5]),
    "ndtr": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [-12, -5, -1.5, -0.1, 0, 0.3, 1, 4, 7]),
    "log_ndtr": (log_ndtr, [-300, -50, -12, -10.01, -9.9, -3, -0.5, 0, 0.2, 1, 3, 6, 8]),
    "ndtri": (ndtri, [1e-30, 1e-10, 1e-4, 0.02, 0.2, 0.249, 0.251, 0.4, 0.499, 0.51, 0.7, 0.76, 0.99, 0.99999]),
    "logit": (lambda x: mp.log(x / (1 - x)), [1e-20, 1e-3, 0.2, 0.3, 0.49, 0.5, 0.51, 0.7, 0.8, 0.999]),
    "entr": (lambda x: mp.mpf(0) if x == 0 else -x * mp.log(x), [0, 1e-5, 0.3, 1, 2.5]),
    "loggamma": (mp.loggamma, [1e-5, 0.3, 0.9, 1.2, 1.9, 2.2, 7, 100]),
    "sici": (lambda x: (mp.si(x), mp.re(mp.ci(x))), [1e-5, 0.3, 1, 2.5, 3.9, 4, 4.1, 7, 30, 1e4]),
    "fresnel": (lambda x: (mp.fresnels(x), mp.fresnelc(x)), [-2.5, 1e-5, 0.3, 0.99, 1.01, 1.7, 4, 7, 30]),
    "bessel_jn": (lambda x: tuple(mp.besselj(n, x) for n in range(6)), [0.01, 0.3, 0.99, 1.1, 3, 10, 24.9, 25.2, 60, 1000]),
    "gammasgn": (lambda x: mp.sign(mp.gamma(x)), [0.5, 3, -0.5, -1.5, -2.5, -7.3]),
    "factorial": (mp.factorial, [0, 1, 2, 5, 10, 20, 0.5, 3.7, 25.3]),
    "exp1": (mp.e1, [1e-30, 1e-3, 0.1, 0.4, 0.99, 1, 1.01, 2.5, 7, 20, 60]),
    "expn (0)": (lambda x: mp.expint(0, x), [1e-3, 0.5, 1, 2.5, 20, 60]),
    "expn (2)": (lambda x: mp.expint(2, x), [1e-3, 0.1, 0.5, 0.99, 1, 1.01, 2.5, 7, 20, 60]),
    "expn (7)": (lambda x: mp.expint(7, x), [1e-3, 0.1, 0.5, 0.99, 1, 1.01, 2.5, 7, 20, 60]),
    "expn (100)": (lambda x: mp.expint(100, x), [1e-3, 0.1, 0.5, 0.99, 1, 1.01, 2.5, 7, 20, 60]),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), [1e-20, 1e-3, 0.3, 0.499, 0.501, 0.9, 1.1, 1.9, 2, 2.1, 5, 100, 1e10]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [-8, -2.5, -0.3, 0, 1e-3, 0.5, 1, 3, 7.9, 8, 8.1, 20, 30, 1e10]),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
              [-20, -3, -0.2, 1e-10, 0.1, 0.49, 0.5, 0.51, 0.92, 1.5, 2, 4.1, 8, 11.9, 12, 12.1, 50, 1e10]),
}
TWO = {
    "betaln": (lambda a, b: mp.log(abs(mp.beta(a, b))), [(0.5, 0.5), (1.5, 2.25), (3, 7), (0.1, 20), (12.5, 9)]),
    "zeta": (mp.zeta, [(1.1, 1), (2, 1), (3.5, 0.25), (2, 10.5), (20, 2.5), (1.5, 100), (50, 0.5), (6, 1e-3)]),
    "gammainc": (lower, [(0.5, 0.1), (0.5, 3), (1, 1), (2.5, 0.7), (2.5, 8), (10, 9), (10, 25), (50, 40), (50, 60), (300, 290), (1e4, 9990), (3, 0), (0.1, 1e-4)]),
    "gammaincc": (upper, [(0.5, 0.1), (0.5, 3), (1, 1), (2.5, 0.7), (2.5, 8), (10, 9), (10, 25), (50, 40), (50, 60), (300, 290), (1e4, 9990), (3, 0), (2, 60)]),
    "beta": (mp.beta, [(0.5, 0.5), (1.5, 2.25), (3, 7), (0.1, 20), (12.5, 9), (-0.5, 2), (-1.5, -0.3)]),
    "poch": (mp.rf, [(1, 0), (2, 3), (0.5, 2.5), (10, -3), (100, 5), (-1.5, 2), (-2.3, 1.7)]),
    "comb": (mp.binomial, [(5, 2), (10, 0), (10, 10), (52, 5), (2.5, 1.5), (100, 50), (1000.5, 3)]),
    "boxcox": (lambda x, p: mp.log(x) if p == 0 else mp.expm1(p * mp.log(x)) / p, [(1, 0.5), (2, 0), (3, 1), (0.5, -2), (100, 0.3), (1.001, 5), (7, 1e-9)]),
    "boxcox1p": (lambda x, p: mp.log1p(x) if p == 0 else mp.expm1(p * mp.log1p(x)) / p, [(0, 0.5), (2, 0), (1e-8, 1), (-0.5, -2), (100, 0.3), (7, 1e-9)]),
    "xlogy": (xlogy, [(0, 3), (2, 0.5), (-1, 7), (0.5, 1.5)]),
    "xlog1py": (lambda x, y: mp.mpf(0) if x == 0 else x * mp.log1p(y), [(0, 3), (2, 0.5), (-1, 1e-6), (0.5, -0.5)]),
    "rel_entr": (relative, [(0, 3), (2, 0.5), (1, 7), (0.5, 1.5)]),
    "kl_div": (lambda x, y: relative(x, y) - x + y, [(0, 3), (2, 0.5), (1, 7), (0.5, 1.75)]),
}
TWO |= {
    "owens_t": (owens_t, [(0.5, 0.3), (-2, 0.9), (1, -0.5), (1e-3, 0.7), (0.5, 3), (3, 1.1), (6, 40), (12, 0.8), (8, 1.01)]),
    "wofz": (parts(faddeeva), [(0.5, 0.3), (2, 0.05), (-3, 1), (0.7, -0.4), (-1.5, -1), (5.1, 0.01), (0.1, 7), (20, 3), (100, 1000), (1e-3, 2)]),
    "loggamma (complex)": (parts(lambda x, y: mp.loggamma(mp.mpc(x, y))),
                           [(0.7, 0.3), (1.2, 0.6), (2.3, 0.7), (5, 2), (20, 30), (-1.6, 0.3), (-7.3, -2.2), (0.2, -1.7), (-3, 20)]),
    "sph_harm_y:0 0": (parts(harmonic(0, 0)), [(0.3, 0.7), (2.5, 4)]),
    "sph_harm_y:3 2": (parts(harmonic(3, 2)), [(0.3, 0.7), (1.2, 0.2), (2.5, 4)]),
    "sph_harm_y:5 -3": (parts(harmonic(5, -3)), [(0.3, 0.7), (1.2, 0.2), (2.5, 4)]),
}
THREE = {
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                [(0.5, 0.5, 0.3), (2, 3, 0.1), (2, 3, 0.9), (10, 4, 0.7), (0.2, 7, 0.01), (30, 40, 0.45), (1, 1, 0.25), (5, 0.5, 0.99)]),
}
FOUR = {
    "hyp2f1": (mp.hyp2f1, [(0.5, 1.5, 2.5, 0.3), (1, 2, 3.5, 0.7), (2, 3, 4, 0.95), (0.3, 0.4, 0.7, 0.99), (1.5, 2.5, 0.5, 0.8), (-0.5, 2, 1.3, -0.4),
                           (1.1, 0.7, 2.3, -3), (2, 3.5, 1.25, -100), (-1.5, 0.5, -2.5, 0.6), (3, 4, 7.2, 0.999)]),
}
THREE |= {
    "hyp1f1": (mp.hyp1f1, [(0.5, 1.5, 0.3), (2, 3, 10), (2, 3, -10), (-1.5, 2.5, 4), (0.3, 7, 40), (1.5, 4, 80), (1.5, 4, -80), (3, 1, -5), (8, 0.5, 2), (2.5, -0.5, 1)]),
}
# Derivatives with respect to these arguments.
DERIVATIVES = {"loggamma": [0], "sici": [0], "fresnel": [0], "owens_t": [0, 1], "wofz": [0, 1], "loggamma (complex)": [0, 1], "hyp1f1": [0, 1, 2],
               "hyp2f1": [0, 1, 2, 3], "sph_harm_y:3 2": [0, 1], "sph_harm_y:5 -3": [0, 1], "factorial": [0], "exp1": [0], "expn (0)": [0], "expn (2)": [0], "expn (7)": [0], "spence": [0], "erfcx": [0], "dawsn": [0], "beta": [0, 1],
               "poch": [0, 1], "boxcox": [0, 1], "boxcox1p": [0, 1], "expi": [0], "i0": [0], "i1e": [0], "ndtr": [0], "log_ndtr": [0], "ndtri": [0], "logit": [0], "betaln": [0, 1],
               "gammainc": [0, 1], "gammaincc": [0, 1], "betainc": [0, 1, 2], "rel_entr": [0, 1]}


def store(key, inputs, outputs, dtype):
    for i, x in enumerate(inputs):
        tensors[f"{key}/in{i}"] = x
    for i, y in enumerate(outputs):
        tensors[f"{key}/out{i}"] = np.array([float(mp.re(v)) for v in np.ravel(y)], dtype).reshape(np.shape(y))


for table in (ONE, TWO, THREE, FOUR):
    for name, (f, points) in table.items():
        for dtype in ("float32", "float64"):
            r = np.random.default_rng(zlib.crc32((name + dtype).encode()))
            rows = [p if isinstance(p, tuple) else (p,) for p in points]
            columns = [np.array(c, dtype) for c in zip(*rows)]
            # Points next to them are drawn as well.
            columns = [np.concatenate([c, (c * (1 + 0.01 * r.random(c.size))).astype(dtype)]) for c in columns]
            if name in ("betainc", "logit", "ndtri", "hyp2f1"):
                columns[-1] = np.minimum(columns[-1], np.array(0.9995, dtype))
            points_of = list(zip(*[[mp.mpf(float(v)) for v in c] for c in columns]))
            key = ":".join([*name.split(":"), *[""] * (":" not in name), "-".join([dtype] * len(columns))])
            results = [f(*p) for p in points_of]
            store(key, columns, list(zip(*results)) if isinstance(results[0], tuple) else [results], dtype)
            if name in DERIVATIVES:
                def first(*p):
                    return f(*p)[0] if isinstance(results[0], tuple) else f(*p)
                kept = [p for p in points_of if all(v != 0 for v in p)]
                inputs = [np.array([float(v) for v in c], dtype) for c in zip(*kept)]
                weights = [1 + mp.mpf(k % 5) / 4 for k in range(len(kept))]
                slopes = [[w * mp.diff(first, p, tuple(int(i == n) for i in range(len(p)))) for w, p in zip(weights, kept)]
                          for n in DERIVATIVES[name]]
                store("grad " + key, inputs, slopes, dtype)

tensor_file.write(pathlib.Path(__file__).with_name("names_special.safetensors"), tensors)
