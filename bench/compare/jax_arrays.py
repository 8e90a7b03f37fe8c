"""Calls of a few elements, array programs, and a recurrent network's loop, in JAX."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_row import SPLIT, WHOLE, bound, bound_tree, mapped, normal, row

# --- dispatch
row("jit_scalar")(lambda: bound(jax.jit(lambda x: x + 1), jnp.zeros(())))
row("jit_tree_100")(lambda: bound_tree(jax.jit(lambda t: [x + 1 for x in t]), [jnp.zeros(()) for _ in range(100)]))
row("eager_add")(lambda: bound(lambda x: x + x, jnp.zeros(4)))
row("eager_update")(lambda: bound(lambda w, g: w - 0.1 * (g + 0.01 * w), jnp.ones(8), jnp.ones(8)))
mapped("pmap_plus_one", lambda x: x + 1, lambda: jnp.zeros((4, 8)), whole=lambda x: x + 1)
mapped("pmap_psum", lambda x: lax.psum(x, "i"), lambda: jnp.zeros((4, 8)), whole=lambda x: x.sum(0), out=WHOLE)
row("grad_eager")(lambda: bound(jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), jnp.ones(8)))


def chained(f, x):
    box = [f(x)]

    def call():
        box[0] = f(box[0])
        box[0].block_until_ready()

    return call


mapped("pmap_chained", lambda x: x + 1, lambda: jnp.zeros((4, 8)), whole=lambda x: x + 1, wait=chained)


# --- array programs
LARGE = 16 * 1024 * 1024


def energy(x):
    return jnp.sum(x * x + jnp.sin(x) * jnp.cos(x))


def one_by_one(f, n):
    data = [normal(i, (n,)) for i in range(4)]
    return lambda: jax.block_until_ready([f(r) for r in data])


for n in (1000, 10000, 100000, 1000000):
    mapped(f"pmap_energy/{n}", energy, lambda n=n: normal(0, (4, n)), whole=jax.vmap(energy))
    row(f"jit_energy/{n}")(lambda n=n: one_by_one(jax.jit(energy), n))
    row(f"eager_energy/{n}")(lambda n=n: one_by_one(energy, n))

row("multiply_add")(lambda: bound(jax.jit(lambda v, w: v * 3 + w), normal(0, (LARGE,)), normal(1, (LARGE,))))
row("chain")(lambda: bound(jax.jit(lambda v: jnp.log1p(jnp.exp(jnp.tanh(v)))), normal(0, (LARGE,))))
row("sum")(lambda: bound(jax.jit(jnp.sum), normal(0, (LARGE,))))
row("softmax")(lambda: bound(jax.jit(jax.nn.softmax), normal(0, (4096, 4096))))
row("transpose")(lambda: bound(jax.jit(jnp.transpose), normal(0, (4096, 4096))))
row("normals")(lambda: bound(jax.jit(lambda k: jax.random.normal(k, (4 * 1024 * 1024,))), jax.random.key(0)))
for n in (256, 512, 1024, 2048):
    row(f"matmul/{n}")(lambda n=n: bound(jax.jit(jnp.dot), normal(0, (n, n)), normal(1, (n, n))))
mapped("matmul_by_rows/512", jnp.dot, lambda: normal(0, (4, 128, 512)), lambda: normal(1, (512, 512)), specs=(SPLIT, WHOLE),
       whole=jnp.matmul)
mapped("matmul_by_columns/512", jnp.dot, lambda: normal(0, (512, 512)), lambda: normal(1, (4, 512, 128)), specs=(WHOLE, SPLIT),
       whole=jnp.matmul)


# --- a recurrent network
def rnn_parts():
    xs, start = normal(1, (1000, 64)), jnp.zeros(64)

    def final(w):
        def step(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h

        return lax.scan(step, start, xs)[0]

    return final, normal(0, (64, 64)) * 0.1


@row("rnn")
def rnn():
    final, w = rnn_parts()
    return bound(jax.jit(final), w)


@row("rnn_grad_flushed")  # XLA's kernels always treat subnormal numbers as zeros
@row("rnn_grad")
def rnn_grad():
    final, w = rnn_parts()
    return bound(jax.jit(jax.grad(lambda w: jnp.sum(final(w)))), w)
