"""Makes decomposed.safetensors: results of jax 0.10.2 on CPU that depend on matrix decompositions: draws, initialisers, densities, polynomials.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python make_decomposed.py

Names are function:variant:dtypes, as make_golden.py has them; the C++ side is decomposed_test.cc.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import multivariate_normal

import golden_file

assert jax.__version__ == "0.10.2", jax.__version__
file = golden_file.File()
rng = np.random.default_rng(31)


def covariance(*shape):
    x = rng.standard_normal(shape)
    return x @ np.swapaxes(x, -1, -2) + 0.5 * np.eye(shape[-1])


# The signs of eigenvectors are arbitrary, so draws computed from them are compared by their lengths.
def length(draw, mean, cov):
    y = draw - mean
    return jnp.einsum("...i,...i->...", y, jnp.linalg.solve(cov, y[..., None])[..., 0])


for dtype in ("float32", "float64"):
    with jax.enable_x64(dtype == "float64"):
        normal = lambda *s: jnp.asarray(rng.standard_normal(s), dtype)
        for seed in (0, 12345):
            key = jax.random.PRNGKey(seed)
            k = np.asarray(key)
            for n, m in ((1, 1), (3, 3), (5, 2), (2, 5), (8, 8)):
                file.case(f"orthogonal:{n} {m}", lambda: jax.random.orthogonal(key, n, (), dtype, m), first=k)
            file.case("orthogonal:batch", lambda: jax.random.orthogonal(key, 3, (2, 2), dtype), first=k)
            for shape in ((4, 4), (3, 7), (2, 3, 4), (0, 3)):
                for axis in (-1, 0):
                    name = " ".join(map(str, (axis, *shape)))
                    file.case(f"initializer:{name}", lambda: jax.nn.initializers.orthogonal(1.5, axis)(key, shape, dtype), first=k)
            for shape in ((3, 2, 2), (4, 3, 2, 5), (1, 2, 3, 4, 4)):
                name = " ".join(map(str, shape))
                file.case(f"delta:{name}", lambda: jax.nn.initializers.delta_orthogonal(0.5)(key, shape, dtype), first=k)
            for shape, a, b in ((None, (3,), (3, 3)), ((6,), (3,), (3, 3)), (None, (2, 2), (2, 2, 2)), ((5, 2), (1,), (2, 1, 1))):
                mean, cov = normal(*a), jnp.asarray(covariance(*b), dtype)
                name = "" if shape is None else " ".join(map(str, shape))
                file.case(f"draw:{name}", lambda mean, cov: jax.random.multivariate_normal(key, mean, cov, shape, dtype), mean, cov, first=k)
                for method in ("eigh", "svd"):
                    file.case(f"length {method}:{name}", lambda mean, cov: length(
                        jax.random.multivariate_normal(key, mean, cov, shape, dtype, method), mean, cov), mean, cov, first=k)
        for x, mean, cov in (((3,), (3,), (3, 3)), ((5, 3), (3,), (3, 3)), ((2, 4, 2), (4, 2), (2, 1, 2, 2)), ((2,), (2,), ()),
                             ((4, 2), (4, 2), ()), ((5,), (), ()), ((3,), (2, 3), (3, 3)), ((0, 2), (2,), (2, 2))):
            c = jnp.asarray(covariance(*cov) if cov else rng.uniform(0.5, 2), dtype)
            inputs = normal(*x), normal(*mean), c
            file.case("logpdf:", multivariate_normal.logpdf, *inputs)
            file.case("pdf:", multivariate_normal.pdf, *inputs)
        file.case("grad logpdf:", jax.grad(lambda *a: multivariate_normal.logpdf(*a).sum(), (0, 1, 2)), normal(4, 3), normal(3), jnp.asarray(covariance(3, 3), dtype))
        file.case("logpdf:", multivariate_normal.logpdf, normal(2), normal(2), jnp.asarray([[1, 2], [2, 1]], dtype))
        for n, deg, k in ((6, 0, ()), (9, 2, ()), (9, 3, (2,)), (3, 2, (1,)), (4, 5, ())):
            x, y = normal(n), normal(n, *k)
            file.case(f"polyfit:{deg}", lambda x, y: jnp.polyfit(x, y, deg), x, y)
            file.case(f"polyfit:{deg}", lambda x, y, w: jnp.polyfit(x, y, deg, w=w), x, y, abs(normal(n)))
            file.case(f"polyfit:{deg} 0.3", lambda x, y: jnp.polyfit(x, y, deg, rcond=0.3), x, y)
        file.case("grad polyfit:2", jax.grad(lambda x, y: jnp.polyfit(x, y, 2).sum(), (0, 1)), normal(7), normal(7))
file.write(pathlib.Path(__file__).with_name("decomposed.safetensors"))
