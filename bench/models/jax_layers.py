"""The layers that the models are written in, in plain JAX: images are NHWC, kernels HWIO, matrices (in, out)."""

import math

import jax
import jax.numpy as jnp
from jax import lax


class Layers:
    """`values` are the weights by name. Without them, `specs` collects their shapes and kinds, and `flops` the work."""

    def __init__(self, dtype, values=None):
        self.dtype, self.values, self.specs, self.flops = dtype, values, {}, 0
        self.number = jnp.bfloat16 if dtype == "bfloat16" else jnp.float32

    # --- weights
    def weight(self, name, shape, kind):
        """A weight in the type of the activations; of int8, the whole numbers and their scales."""
        narrow = self.dtype == "int8" and kind in ("matrix", "table")
        if self.values is None:
            self.specs[name] = (shape, kind)
            x = jnp.zeros(shape, self.number)
            return (x, jnp.zeros(shape[1:] if kind == "matrix" else shape[:1])) if narrow else x
        return (self.values[name], self.values[name + "/scale"]) if narrow else self.values[name]

    # --- images
    def conv(self, name, x, out, window=3, stride=1, groups=1, bias=False):
        kernel = self.weight(name, (window, window, x.shape[-1] // groups, out), "conv")
        pad = (window - 1) // 2
        y = lax.conv_general_dilated(x, kernel, (stride, stride), ((pad, pad), (pad, pad)),
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)
        self.flops += 2 * math.prod(y.shape) * math.prod(kernel.shape[:3])
        return y + self.weight(name + "/bias", (out,), "bias") if bias else y

    def patches(self, name, x, out, size):
        """A convolution of disjoint windows, as a sequence."""
        kernel = self.weight(name, (size, size, x.shape[-1], out), "conv")
        y = lax.conv_general_dilated(x, kernel, (size, size), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        self.flops += 2 * math.prod(y.shape) * math.prod(kernel.shape[:3])
        return y.reshape(y.shape[0], -1, out) + self.weight(name + "/bias", (out,), "bias")

    def conv_line(self, name, x, out, stride=1):
        """A convolution of 3 along a sequence."""
        kernel = self.weight(name, (3, x.shape[-1], out), "conv")
        y = lax.conv_general_dilated(x, kernel, (stride,), ((1, 1),), dimension_numbers=("NWC", "WIO", "NWC"))
        self.flops += 2 * math.prod(y.shape) * math.prod(kernel.shape[:2])
        return y + self.weight(name + "/bias", (out,), "bias")

    def enlarge(self, name, x, out):
        """A transposed convolution of 2 x 2, which doubles both sides."""
        kernel = self.weight(name, (2, 2, x.shape[-1], out), "conv")
        y = lax.conv_transpose(x, kernel, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        self.flops += 2 * math.prod(y.shape) * x.shape[-1]
        return y

    def batch_norm(self, name, x, kind="scale"):
        scale, offset, mean, variance = (self.weight(f"{name}/{k}", x.shape[-1:], k) for k in (kind, "offset", "mean", "variance"))
        return (x - mean) * (lax.rsqrt(variance + 1e-5) * scale) + offset

    def max_pool(self, x, window, stride):
        pad = (window - 1) // 2
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1),
                                 ((0, 0), (pad, pad), (pad, pad), (0, 0)))

    def space_mean(self, x, keep=False):
        return x.mean((1, 2), keepdims=keep)

    def channels(self, *images):
        return jnp.concatenate(images, -1)

    def shown(self, x):
        """An image as a result of the model."""
        return x

    # --- elementwise
    relu, silu, sigmoid = staticmethod(jax.nn.relu), staticmethod(jax.nn.silu), staticmethod(jax.nn.sigmoid)
    relu6, tanh = staticmethod(jax.nn.relu6), staticmethod(jnp.tanh)

    def gelu(self, x, exact=True):
        return jax.nn.gelu(x, approximate=not exact)

    # --- sequences
    def product(self, x, matrix, tied=False):
        """x @ matrix, or x @ matrix.T; of int8, with the scales of the columns afterwards."""
        matrix, scale = matrix if isinstance(matrix, tuple) else (matrix, None)
        y = lax.dot_general(x, matrix.astype(x.dtype), (((x.ndim - 1,), (1 if tied else 0,)), ((), ())))
        self.flops += 2 * math.prod(x.shape) * matrix.shape[0 if tied else 1]
        return y if scale is None else y * scale

    def linear(self, name, x, out, bias=True):
        y = self.product(x, self.weight(name, (x.shape[-1], out), "matrix"))
        return y + self.weight(name + "/bias", (out,), "bias") if bias else y

    def table(self, name, count, width):
        return self.weight(name, (count, width), "table")

    def look_up(self, table, ids):
        if isinstance(table, tuple):
            return table[0][ids].astype(self.number) * table[1][ids][..., None]
        return table[ids]

    def layer_norm(self, name, x):
        mean = x.mean(-1, keepdims=True)
        y = (x - mean) * lax.rsqrt(jnp.square(x - mean).mean(-1, keepdims=True) + 1e-5)
        return y * self.weight(name, x.shape[-1:], "scale") + self.weight(name + "/offset", x.shape[-1:], "offset")

    def rms_norm(self, name, x):
        wide = x.astype(jnp.float32)
        y = wide * lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-5)
        return y.astype(x.dtype) * self.weight(name, x.shape[-1:], "scale")

    def attention(self, q, k, v, mask=None):
        """q is (batch, to, heads, width), k and v may have fewer heads; the mask is "causal" or broadcasts to (batch, heads, to, from)."""
        k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], 2) if x.shape[2] < q.shape[2] else x for x in (k, v))
        scores = jnp.einsum("bthd,bshd->bhts", q, k).astype(jnp.float32) * q.shape[3] ** -0.5
        if isinstance(mask, str):
            mask = jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1])
        if mask is not None:
            scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
        self.flops += 4 * math.prod(scores.shape) * q.shape[3]
        y = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, -1).astype(q.dtype), v)
        return y.reshape(*y.shape[:2], -1)

    def update(self, cache, rows, position):
        return lax.dynamic_update_slice_in_dim(cache, rows, position[0], 1)

    def rotate(self, x, positions):
        """Rotary positions of (batch, length, heads, width)."""
        half = x.shape[-1] // 2
        angles = positions[:, None].astype(jnp.float32) * 1e4 ** (-jnp.arange(half, dtype=jnp.float32) / half)
        sin, cos = jnp.sin(angles)[:, None].astype(x.dtype), jnp.cos(angles)[:, None].astype(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

    def positions(self, count):
        return jnp.arange(count)

    def swap(self, x):
        """Exchanges the last two axes."""
        return jnp.swapaxes(x, -1, -2)

    def joined(self, *parts):
        """Sequences one behind the other."""
        return jnp.concatenate(parts, 1)

    def repeat(self, row, batch):
        return jnp.broadcast_to(row, (batch, *row.shape))

    def lstm(self, name, x, width):
        """All states of one layer over (batch, length, features); gates in the order input, forget, cell, output."""
        w = self.weight(name + "/in", (x.shape[-1], 4 * width), "matrix")
        u = self.weight(name + "/state", (width, 4 * width), "matrix")
        inputs = self.product(x, w) + self.weight(name + "/bias", (4 * width,), "bias")
        self.flops += 2 * x.shape[0] * x.shape[1] * 4 * width * width

        def step(carry, row):
            h, c = carry
            i, f, g, o = jnp.split(row + h @ u, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[0], width))
        return jnp.swapaxes(lax.scan(step, (zero, zero), jnp.swapaxes(inputs, 0, 1))[1], 0, 1)
