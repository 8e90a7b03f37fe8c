"""Makes distributions.safetensors: draws of jax.random (jax 0.10.2) on CPU.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python make_random.py

Names are function:variant:dtypes, as make_golden.py has them; the C++ side is distributions_test.cc.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

import golden_file

assert jax.__version__ == "0.10.2", jax.__version__
file = golden_file.File()
f32, f64 = jnp.float32, jnp.float64
N = (64,)
rng = np.random.default_rng(11)


def both(name, f, *parameters):
    """Stores f(key, *parameters, dtype) in float32 and in float64."""
    for seed in (0, 12345):
        for dtype in (f32, f64):
            with jax.enable_x64(dtype is f64):
                p = [jnp.asarray(x, dtype) for x in parameters]
                file.case(f"{name}:{dtype.__name__}", lambda k, *a: f(k, *a, dtype), np.asarray(random.PRNGKey(seed)), *p)


for name in ("cauchy", "laplace", "logistic", "maxwell"):
    both(name, lambda k, d, name=name: getattr(random, name)(k, (8, 8), d))
both("rademacher", lambda k, d: random.rademacher(k, N, d))
both("double_sided_maxwell", lambda k, l, s, d: random.double_sided_maxwell(k, l, s, (5,), d), [1.0, -2.0, 0.5], [0.5, 2.0, 1.0])
both("lognormal", lambda k, s, d: random.lognormal(k, s, (16, 3), d), [0.25, 1.0, 2.0])
both("pareto", lambda k, b, d: random.pareto(k, b, (16, 3), d), [0.5, 1.0, 7.0])
both("rayleigh", lambda k, s, d: random.rayleigh(k, s, (16, 3), d), [0.5, 1.0, 7.0])
both("weibull_min", lambda k, s, c, d: random.weibull_min(k, s, c, (16, 3), d), [0.5, 1.0, 7.0], [1.0, 0.5, 3.0])
both("wald", lambda k, m, d: random.wald(k, m, (16, 3), d), [0.5, 1.0, 7.0])
both("triangular", lambda k, l, m, r, d: random.triangular(k, l, m, r, (16, 3), d), [0.0, -1.0, 2.0], [0.5, -1.0, 3.0], [1.0, 1.0, 3.0])
shapes = np.concatenate([np.exp(rng.uniform(-4, 6, 40)), [1, 0.5, 2, 1e-2, 1000]])
both("gamma", lambda k, a, d: random.gamma(k, a, dtype=d), shapes)
both("loggamma", lambda k, a, d: random.loggamma(k, a, dtype=d), np.concatenate([shapes, [1e-3, 1e-4]]))
both("gamma_grad", lambda k, a, d: jax.grad(lambda b: jnp.sum(random.gamma(k, b, dtype=d)))(a), shapes)
both("loggamma_grad", lambda k, a, d: jax.grad(lambda b: jnp.sum(random.loggamma(k, b, dtype=d)))(a), np.maximum(shapes, 0.1))
both("beta", lambda k, a, b, d: random.beta(k, a, b, (20, 3), d), [0.5, 1.0, 7.0], [1.0, 0.1, 3.0])
both("chisquare", lambda k, a, d: random.chisquare(k, jnp.broadcast_to(a, (20, 3)), (20, 3), d), [0.5, 1.0, 7.0])
both("dirichlet", lambda k, a, d: random.dirichlet(k, a, (9,), d), [[0.5, 1.0, 7.0, 0.01]])
both("f", lambda k, a, b, d: random.f(k, jnp.broadcast_to(a, (20, 3)), jnp.broadcast_to(b, (20, 3)), (20, 3), d), [2.5, 1.0, 7.0], [1.0, 4.0, 3.0])
both("t", lambda k, a, d: random.t(k, a, (20, 3), d), [0.5, 1.0, 7.0])
both("generalized_normal", lambda k, d: random.generalized_normal(k, 1.5, N, d))
both("ball", lambda k, d: random.ball(k, 3, 2, (20,), d))
both("ball", lambda k, d: random.ball(k, 2, 1, (20,), d))
for seed in (0, 12345, 7):
    key = random.PRNGKey(seed)
    k = np.asarray(key)
    file.case("geometric:", lambda q: random.geometric(key, q, (16, 3)), np.float32([0.5, 0.03, 1.0]), first=k)
    file.case("poisson:", lambda r: random.poisson(key, r, (16, 6)), np.float32([0, 0.3, 3, 9.9, 10.5, 500]), first=k)
    file.case("binomial:", lambda n, p: random.binomial(key, n, p, (16, 8)), np.float32([5, 20, 100, 1000, -1, np.inf, 50, 30]),
              np.float32([0.3, 0.9, 0.5, 0.2, 0.5, 0.5, np.nan, 1.0]), first=k)
file.write(pathlib.Path(__file__).with_name("distributions.safetensors"))
