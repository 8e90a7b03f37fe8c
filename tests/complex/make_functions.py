"""Writes functions.inc: complex functions by mpmath in 60 digits, and at the edges of branch cuts by NumPy.

    python make_functions.py > functions.inc
"""
import random

import mpmath
import numpy as np

mpmath.mp.dps = 60

NAMES = {
    "sqrt": mpmath.sqrt, "rsqrt": lambda z: 1 / mpmath.sqrt(z), "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log,
    "log1p": lambda z: mpmath.log(1 + z), "logistic": lambda z: 1 / (1 + mpmath.exp(-z)), "sin": mpmath.sin, "cos": mpmath.cos,
    "tan": mpmath.tan, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "asinh": mpmath.asinh, "acosh": mpmath.acosh, "atanh": mpmath.atanh,
}
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def text(x):
    x = float(x)
    if np.isnan(x):
        return "kNaN"
    if np.isinf(x):
        return "kInf" if x > 0 else "-kInf"
    return x.hex()


def row(name, z, w):
    print(f'{{"{name}", {text(z.real)}, {text(z.imag)}, {text(w.real)}, {text(w.imag)}}},')


random.seed(11)
POINTS = [complex(np.float32(random.uniform(-3, 3)), np.float32(random.uniform(-3, 3))) for _ in range(8)]
POINTS += [complex(np.float32(random.uniform(-1, 1) * s), np.float32(random.uniform(-1, 1) * s)) for s in (1e-3, 1e-6, 30) for _ in range(2)]
EDGES = [complex(a, b) for a in (-2.0, 2.0, 0.5, -0.5) for b in (0.0, -0.0)] + [complex(a, b) for a in (0.0, -0.0) for b in (2.0, -2.0)]
INFINITE = [complex(a, b) for a in (np.inf, -np.inf) for b in (1.0, -1.0)]
np.seterr(all="ignore")
for name, f in NAMES.items():
    for z in POINTS:
        row(name, z, f(mpmath.mpc(z)))
    if hasattr(np, NUMPY.get(name, name)):
        g = getattr(np, NUMPY.get(name, name))
        for z in EDGES + (INFINITE if name in ("sqrt", "exp", "log", "asin", "asinh", "atan", "tanh") else []):
            row(name, z, g(np.complex128(z)))
