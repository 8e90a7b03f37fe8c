"""Compares functions that JAX exports, in each form of the text and as files of jax.export, with JAX's results: MODELS.py TESSERA.
Skipped without JAX (77)."""
import sys

sys.dont_write_bytecode = True
import model_runs

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

try:
    import flatbuffers  # jax.export writes its files with it
except ImportError:
    flatbuffers = None

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def mlp(w, x):
    return jax.nn.softmax(jax.nn.gelu(x @ w[0] + w[1]) @ w[2])


def loss(w, x, y):
    return -jnp.mean(jnp.sum(y * jnp.log(mlp(w, x)), -1))


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


def conv(w, x):
    y = jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def newton(x):
    return jax.lax.while_loop(lambda s: (s[1] > 1e-3) & (s[2] < 50), lambda s: ((s[0] + x / s[0]) / 2, abs(s[0] ** 2 - x), s[2] + 1), (x, x, 0))


def layer_norm(x, g):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g


w = (normal(8, 16), normal(16), normal(16, 4))
x, y = normal(5, 8), np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 0]]
models = {
    "mlp": (mlp, w, x),
    "loss_and_gradient": (jax.value_and_grad(loss), w, x, y),
    "hessian_vector": (lambda a: jax.jvp(jax.grad(lambda b: jnp.sum(jnp.sin(b) ** 3)), (a,), (a,)), x),
    "attention": (attention, normal(2, 3, 7, 4), normal(2, 3, 7, 4), normal(2, 3, 7, 4)),
    "conv_gradient": (jax.grad(lambda k, a: conv(k, a).sum(), argnums=(0, 1)), normal(3, 3, 2, 4), normal(2, 9, 9, 2)),
    "recurrent_gradient": (jax.grad(lambda k, a: model_runs.recurrent(k, a)[1].sum()), normal(4, 4), normal(6, 3, 4)),
    "newton": (newton, np.float32(7)),
    "layer_norm": (layer_norm, x, normal(8)),
    "branches": (lambda i, a: jax.lax.switch(i, [jnp.sin, jnp.cos, lambda b: b * 2], a), np.int32(1), x),
    "sorts": (lambda a: (jnp.sort(a), jnp.argsort(a), jnp.sort(a, descending=True), jax.lax.top_k(a, 3), jnp.argmax(a, 0), jnp.argmin(a, 1)), x),
    "two_keys": (lambda a, b: jax.lax.sort((a, b), num_keys=2), np.array([3, 1, 3, 1, 2], np.int32), normal(5)),
    "indices": (lambda a, i: (a[i], a.at[i].add(1.0), a.at[i, 0].mul(2.0), jnp.take_along_axis(a, i[:, None], 1), a[1:, ::2]), x, np.array([1, 4, 1, 0, 2], np.int32)),
    "cumulative": (lambda a: (jnp.cumsum(a, 0), jnp.cumprod(a, 1), jax.lax.cummax(a), jax.lax.cumlogsumexp(a, 1)), x),
    "random": (lambda s: (jax.random.normal(jax.random.key(s), (4,)), jax.random.permutation(jax.random.key(s), 9), jax.random.randint(jax.random.key(s), (5,), 0, 10)), np.uint32(3)),
    "half": (lambda a: jnp.tanh(a.astype(jnp.bfloat16) @ a.T.astype(jnp.bfloat16)).astype(jnp.float32), x),
    "integers": (lambda a, b: (a // b, a % b, a ** 3, a & b, a << 2, jnp.clip(a, -1, 1), (a > b) | (a == 0)), np.arange(-4, 4, dtype=np.int32), np.full(8, 3, np.int32)),
    "statistics": (lambda a: (jnp.median(a), jnp.quantile(a, 0.3), jnp.std(a), jnp.logaddexp(a, 1), jnp.linalg.norm(a)), x),
    "functions": (lambda a: (jnp.exp2(a), jnp.arctan2(a, 1 + a * a), jnp.sinh(a), jax.scipy.special.erf(a), jnp.log1p(a * a), jnp.cbrt(a), jax.nn.softplus(a), jnp.hypot(a, 2)), x),
}


def debug_text(lowered):
    try:
        return lowered.as_text(debug_info=True)
    except TypeError:  # old versions of JAX
        return lowered.compiler_ir("stablehlo").operation.get_asm(enable_debug_info=True)


def forms(f, args, lowered):
    module = lowered.compiler_ir("stablehlo")
    yield "pretty", lowered.as_text().encode()
    yield "locations", debug_text(lowered).encode()
    yield "generic", module.operation.get_asm(print_generic_op_form=True).encode()
    exported = jax.export.export(jax.jit(f))(*args)
    yield "exported", exported.serialize() if flatbuffers else exported.mlir_module_serialized


for name, (f, *args) in models.items():
    lowered = jax.jit(f, keep_unused=True).lower(*args)
    expected = lowered.compile()(*args)
    for form, module in forms(f, args, lowered):
        model_runs.compare(f"{name} {form}", module, jax.tree.leaves(args), expected, rtol=2e-5, atol=1e-2 if name == "half" else 1e-5)
model_runs.finish(f"of {len(models)} functions", 3 * len(models))
