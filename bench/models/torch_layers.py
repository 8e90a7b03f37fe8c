"""The layers that the models are written in, in PyTorch: images are NCHW, kernels OIHW, matrices (out, in)."""

import numpy as np
import torch
import torch.nn.functional as F


def tensor(x):
    """A tensor of the same values; numpy has no bfloat16 of PyTorch's."""
    x = np.array(x)
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype.name == "bfloat16" else torch.from_numpy(x)


def held(x, kind):
    """A weight in the layout of this library."""
    if kind == "conv":
        return x.permute(x.ndim - 1, x.ndim - 2, *range(x.ndim - 2)).contiguous()
    return x.t().contiguous() if kind == "matrix" else x


class Layers(torch.nn.Module):
    """`arrays` are the weights by name and `specs` their kinds; `in_place` says whether caches are written in their place."""

    def __init__(self, dtype, arrays, specs, run, in_place):
        super().__init__()
        self.dtype, self.run, self.in_place = dtype, run, in_place
        self.names = {name: "w" + "".join(c if c.isalnum() else "_" for c in name) for name in arrays}
        self.number = torch.bfloat16 if dtype == "bfloat16" else torch.float32
        for name, x in arrays.items():
            kind = specs[name][1] if name in specs else "scale"
            self.register_buffer(self.names[name], held(tensor(x), kind))
        for name, (shape, kind) in specs.items():
            if kind == "conv" and len(shape) == 4 and in_place:
                x = getattr(self, self.names[name])
                setattr(self, self.names[name], x.contiguous(memory_format=torch.channels_last))

    def forward(self, *inputs):
        return self.run(self, inputs)

    # --- weights
    def weight(self, name, shape=None, kind=None):
        x = getattr(self, self.names[name])
        return (x, getattr(self, self.names[name + "/scale"])) if x.dtype == torch.int8 else x

    # --- images
    def conv(self, name, x, out, window=3, stride=1, groups=1, bias=False):
        return F.conv2d(x, self.weight(name), self.weight(name + "/bias") if bias else None, stride, (window - 1) // 2, 1, groups)

    def patches(self, name, x, out, size):
        return F.conv2d(x, self.weight(name), self.weight(name + "/bias"), size).flatten(2).transpose(1, 2)

    def conv_line(self, name, x, out, stride=1):
        return F.conv1d(x.transpose(1, 2), self.weight(name), self.weight(name + "/bias"), stride, 1).transpose(1, 2)

    def enlarge(self, name, x, out):
        # lax.conv_transpose does not turn its kernel, and this function does; its channels are exchanged besides.
        return F.conv_transpose2d(x, self.weight(name).flip(2, 3).transpose(0, 1), stride=2)

    def batch_norm(self, name, x, kind="scale"):
        scale, offset, mean, variance = (self.weight(f"{name}/{k}") for k in (kind, "offset", "mean", "variance"))
        return F.batch_norm(x, mean, variance, scale, offset, False, 0.0, 1e-5)

    def max_pool(self, x, window, stride):
        return F.max_pool2d(x, window, stride, (window - 1) // 2)

    def space_mean(self, x, keep=False):
        return x.mean((2, 3), keepdim=keep)

    def channels(self, *images):
        return torch.cat(images, 1)

    def shown(self, x):
        return x.permute(0, 2, 3, 1)

    # --- elementwise
    relu, silu, sigmoid = staticmethod(F.relu), staticmethod(F.silu), staticmethod(torch.sigmoid)
    relu6, tanh = staticmethod(F.relu6), staticmethod(torch.tanh)

    def gelu(self, x, exact=True):
        return F.gelu(x, approximate="none" if exact else "tanh")

    # --- sequences
    def product(self, x, matrix, tied=False):
        """By a table's rows or a matrix held as (out, in): both are linear's weights."""
        if isinstance(matrix, tuple):
            return F.linear(x, matrix[0].to(x.dtype)) * matrix[1]
        return F.linear(x, matrix)

    def linear(self, name, x, out, bias=True):
        w = self.weight(name)
        if isinstance(w, tuple):
            return self.product(x, w) + self.weight(name + "/bias") if bias else self.product(x, w)
        return F.linear(x, w, self.weight(name + "/bias") if bias else None)

    def table(self, name, count, width):
        return self.weight(name)

    def look_up(self, table, ids):
        if isinstance(table, tuple):
            return table[0][ids].to(self.number) * table[1][ids][..., None]
        return F.embedding(ids, table)

    def layer_norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.weight(name), self.weight(name + "/offset"), 1e-5)

    def rms_norm(self, name, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight(name)

    def attention(self, q, k, v, mask=None):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        causal = isinstance(mask, str)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None if causal else mask, is_causal=causal,
                                           enable_gqa=k.shape[1] < q.shape[1])
        return y.transpose(1, 2).flatten(2)

    def update(self, cache, rows, position):
        return cache.index_copy_(1, position, rows) if self.in_place else cache.index_copy(1, position, rows)

    def rotate(self, x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None].float() * 1e4 ** (-torch.arange(half, dtype=torch.float32) / half)
        sin, cos = angles.sin()[:, None].to(x.dtype), angles.cos()[:, None].to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def positions(self, count):
        return torch.arange(count)

    def swap(self, x):
        return x.transpose(-1, -2)

    def joined(self, *parts):
        return torch.cat(parts, 1)

    def repeat(self, row, batch):
        return row.expand(batch, *row.shape)

    def lstm(self, name, x, width):
        w, u, bias = (self.weight(f"{name}/{k}") for k in ("in", "state", "bias"))
        zero = x.new_zeros(1, x.shape[0], width)
        return torch.lstm(x, (zero, zero), (w, u, bias, torch.zeros_like(bias)), True, 1, 0.0, False, False, True)[0]
