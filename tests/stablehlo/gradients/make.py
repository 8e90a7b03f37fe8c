"""Functions of JAX 0.12 as modules, and their derivatives by JAX: writes NAME.mlir and gradients.safetensors beside this file.

Each is a function of one float32 array that JAX exports by selections, windows, gathers or running totals. Stored are x, the gradient of
sum(f(x)), and for smooth functions the diagonal of its Hessian.
"""
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent.parent / "golden"))
import golden_file

INF = np.inf
RAMP = [0.0, 0.25, 1.0, 2.0, 0.5, 4.0, 3.0, 0.0]
SMOOTH = {
    "erf_inv": (jax.scipy.special.erfinv, [-0.9999, -0.5, 0.0, 0.3, 0.99]),
    "erfc": (jax.scipy.special.erfc, [-30.0, -3.0, -1.0, -0.2, 0.0, 0.3, 1.0, 1.5, 2.5, 6.0, 20.0]),
    "erf": (jax.scipy.special.erf, [-3.0, -0.5, 0.0, 0.7, 2.0]),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), [-60.0, -3.0, -1.0, -0.2, 0.0, 0.3, 1.0, 1.5, 2.5, 6.0, 60.0]),
    "logsumexp": (lambda x: jax.nn.logsumexp(jnp.where(jnp.arange(8) < 5, x, -jnp.inf).reshape(2, 4), axis=1), [0.5, 1.0, -2.0, 3.0, 0.1, 7.0, 8.0, 9.0]),
    "softmax_masked": (lambda x: jax.nn.softmax(jnp.where(jnp.arange(8) % 3 != 0, x, -jnp.inf)) ** 2, [0.5, 1.0, -2.0, 3.0, 0.1, 0.7, -0.3, 9.0]),
    "cumulative_logsumexp": (lambda x: lax.cumlogsumexp(x), [0.5, 1.0, -2.0, 3.0, 0.1]),
    "cumulative_product": (lambda x: lax.cumprod(x), [0.5, 1.0, -2.0, 3.0, 0.1]),
}
KINKED = {
    "erf_inv_at_the_ends": (jax.scipy.special.erfinv, [-1.0, 1.0]),
    "where_root": (lambda x: jnp.where(x > 0, jnp.sqrt(x) * jnp.log(x), 0.0), RAMP),
    "where_in_where": (lambda x: jnp.where(x > 0, jnp.where(x < 2, jnp.log(x), 1 / (x - 2)), 2 * x), RAMP),
    "where_norm": (lambda x: jnp.where((n := jnp.sum(x * x, 1)) > 0, jnp.sqrt(n), 0.0), [[0.0, 0.0], [3.0, 4.0]]),
    "maximum_of_log": (lambda x: jnp.maximum(jnp.log(x), -1.0), RAMP),
    "clipped_reciprocal": (lambda x: jnp.clip(1 / x, 0.0, 3.0), RAMP),
    "largest_log": (lambda x: jnp.max(jnp.log(x).reshape(2, 4), 1), RAMP),
    "max_pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), np.arange(16.0).reshape(4, 4) % 5),
    "sum_pool": (lambda x: lax.reduce_window(jnp.where(x > 0, jnp.sqrt(x), 0.0), 0.0, lax.add, (2, 2), (1, 1), "SAME"), np.arange(9.0).reshape(3, 3) % 4),
    "take_filled": (lambda x: jnp.take(x * x, jnp.array([1, 9, 3, 3]), mode="fill", fill_value=0.0), RAMP),
    "take_masked": (lambda x: jnp.where(x[:4] > 0, jnp.log(x[jnp.array([1, 2, 3, 5])]), 0.0), RAMP),
    "cumulative_maximum": (lambda x: lax.cummax(x * x), [0.5, 1.0, -2.0, 3.0, 0.1]),
}
file = golden_file.File()
for name, (f, at) in (SMOOTH | KINKED).items():
    x = jnp.asarray(at, "float32")
    total = lambda x: f(x).sum()
    derivatives = [jax.grad(total)(x)]
    if name in SMOOTH:
        derivatives.append(jnp.diag(jax.hessian(total)(x)))
    file.store(name, [x], derivatives)
    text = export.export(jax.jit(f))(jax.ShapeDtypeStruct(x.shape, x.dtype)).mlir_module()
    lines = [re.sub(r"\s*loc\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*\)", "", line) for line in text.splitlines() if not line.startswith("#loc")]
    (here / f"{name}.mlir").write_text("\n".join(lines) + "\n")
    print(name, *derivatives)
file.write(here / "gradients.safetensors")
