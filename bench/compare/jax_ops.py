"""Functions of two million elements and operations of the sizes that models have, each alone, in JAX."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_row import bound_tree, integers, normal, row

MANY = 2 * 1024 * 1024


def op(name, f, *data):
    """`data` are functions that make the arguments."""
    row("op/" + name)(lambda: bound_tree(jax.jit(f), *(d() for d in data)))


def unit():
    return jax.block_until_ready(jax.random.uniform(jax.random.key(0), (MANY,), minval=0.05, maxval=0.95))


for name in "exp expm1 log log1p sin cos tan arcsin arctan sinh cosh tanh arcsinh arctanh sqrt cbrt".split():
    op(name, getattr(jnp, name), unit)
op("erf", jax.scipy.special.erf, unit)
op("erfc", jax.scipy.special.erfc, unit)
op("arctan2", lambda x: jnp.arctan2(x, 1 - x), unit)
op("pow", lambda x: jnp.power(x, 1.7), unit)
op("silu", jax.nn.silu, unit)
op("softplus", jax.nn.softplus, unit)
op("gelu", jax.nn.gelu, unit)
op("gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), unit)


def matrix():
    return normal(0, (2048, 1024))


def other():
    return normal(8, (2048, 1024))


def vector():
    return normal(1, (MANY,))


def images():
    return normal(1, (32, 56, 56, 64))


def picked():
    return integers(2, (4096,), 2048)


op("sum_rows", lambda x: x.sum(1), matrix)
op("sum_columns", lambda x: x.sum(0), matrix)
op("max_rows", lambda x: x.max(1), matrix)
op("max_columns", lambda x: x.max(0), matrix)
op("argmax", jnp.argmax, vector)
op("argmax_rows", lambda x: x.argmax(1), matrix)
op("std_rows", lambda x: x.std(1), matrix)
op("norm", jnp.linalg.norm, vector)
op("logsumexp_rows", lambda x: jax.scipy.special.logsumexp(x, 1), matrix)
op("cumsum_rows", lambda x: jnp.cumsum(x, 1), matrix)
op("cumsum_columns", lambda x: jnp.cumsum(x, 0), matrix)
op("sort_rows", lambda x: jnp.sort(x, 1), matrix)
op("argsort_rows", lambda x: jnp.argsort(x, 1), matrix)

square = lambda: normal(13, (1000, 1000))
waves = lambda *shape: lambda: normal(11, shape) + 1j * normal(12, shape)
op("fft_line", jnp.fft.fft, waves(1 << 20))
op("fft_rows", jnp.fft.fft, waves(1024, 1024))
op("solve", jnp.linalg.solve, square, lambda: normal(14, (1000,)))
op("cholesky", jnp.linalg.cholesky, lambda: square() @ square().T + 1000 * jnp.eye(1000))

op("transpose", jnp.transpose, matrix)
op("nhwc_to_nchw", lambda x: jnp.transpose(x, (0, 3, 1, 2)), images)
op("concatenate", lambda x: jnp.concatenate([x, x], 1), matrix)
op("pad", lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), images)
op("flip", lambda x: jnp.flip(x, 1), matrix)
op("roll", lambda x: jnp.roll(x, 3, 1), matrix)
op("where", lambda x, y: jnp.where(x > 0, x, y), matrix, other)
op("take_rows", lambda x, i: jnp.take(x, i, 0), matrix, picked)
op("take_rows_gradient", lambda x, i, g: jax.grad(lambda w: jnp.sum(jnp.take(w, i, 0) * g))(x), matrix, picked,
   lambda: normal(4, (4096, 1024)))
op("add_at", lambda x, i, v: x.at[i].add(v), lambda: normal(5, (MANY,)), lambda: integers(6, (1 << 18,), MANY),
   lambda: normal(7, (1 << 18,)))
op("add_rows_at", lambda x, i, v: x.at[i].add(v), matrix, picked, lambda: normal(8, (4096, 1024)))

op("matrix_vector", jnp.dot, matrix, lambda: normal(2, (1024,)))
op("vector_matrix", lambda x, y: y @ x, matrix, lambda: normal(3, (2048,)))
op("few_columns", jnp.dot, matrix, lambda: normal(4, (1024, 16)))
op("many_small", jnp.matmul, lambda: normal(5, (256, 64, 64)), lambda: normal(6, (256, 64, 64)))
op("attention_scores", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), lambda: normal(7, (8, 128, 4, 64)),
   lambda: normal(8, (8, 128, 4, 64)))
op("product_bfloat16", lambda x: x @ x, lambda: normal(1, (512, 512)).astype(jnp.bfloat16))
op("product_int32", lambda x: x @ x, lambda: integers(9, (256, 256), 100))


def convolved(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def normalised(x, g):
    d = x - x.mean(-1, keepdims=True)
    return jnp.sum(d * lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g)


def label_loss(x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()


def scan_elementwise(x):
    def step(h, r):
        h = jnp.tanh(h * 0.9 + r)
        return h, h

    return lax.scan(step, jnp.zeros(1024), x)[1]


op("conv_3x3", convolved, images, lambda: normal(3, (3, 3, 64, 64)))
op("conv_1x1", convolved, images, lambda: normal(4, (1, 1, 64, 128)))
op("conv_3x3_strided", lambda x, w: convolved(x, w, 2), images, lambda: normal(5, (3, 3, 64, 64)))
op("conv_depthwise", lambda x, w: convolved(x, w, 1, 64), images, lambda: normal(6, (3, 3, 1, 64)))
op("conv_one_image", convolved, lambda: normal(7, (1, 56, 56, 64)), lambda: normal(3, (3, 3, 64, 64)))
op("max_pool", max_pool, images)
op("max_pool_gradient", jax.grad(lambda x: jnp.sum(jnp.square(max_pool(x)))), images)
op("batch_norm", lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), images)
op("layer_norm_gradient", jax.grad(normalised), matrix, other)
op("softmax_gradient", jax.grad(lambda x, g: jnp.sum(jax.nn.softmax(x) * g)), matrix, other)
op("cross_entropy", label_loss, matrix, lambda: integers(2, (2048,), 1024))
op("cross_entropy_gradient", jax.grad(label_loss), matrix, lambda: integers(2, (2048,), 1024))
op("scan_elementwise", scan_elementwise, matrix)
op("gradients_of_examples", lambda x, w: jax.vmap(jax.grad(lambda r: jnp.sum(jnp.tanh(w @ r))))(x),
   lambda: normal(9, (512, 64)), lambda: normal(10, (64, 64)))
op("categorical", lambda x: jax.random.categorical(jax.random.key(0), x), matrix)
op("uniform", lambda k: jax.random.uniform(k, (MANY,)), lambda: jax.random.key(0))
