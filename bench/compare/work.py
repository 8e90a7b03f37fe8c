"""The least work of each row: floating-point operations, and bytes that are read and written once each; or why no limit is known."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Work:
    flops: float = 0.0
    read: float = 0.0
    written: float = 0.0
    unit: str = "fma"  # the kind of arithmetic, whose peak is in limits.measured(); if it has none, float32's counts


LARGE, SQUARE, MATRIX = (4.0 * n for n in (16 * 2**20, 4096 * 4096, 2048 * 1024))  # bytes
IMAGES = 4.0 * 32 * 56 * 56 * 64
EACH = 4.0 * 4 * 2**20  # bytes of each of four devices

CALLS = "a few operations, whose cost is the call"
FUNCTIONS = "functions whose instructions are more than a limit counts, or random numbers"
ORDER = "comparisons, or places that the data say, whose order is not that of memory"
CHAIN = "a chain of small steps, each after the one before"
TRANSFORM = "additions and multiplications in passes, of which few are fused"
MODEL = "a model from a file"
COMPILING = "tracing, compiling, starting or memory"


def product(m, k, n, batch=1, size=4, unit="fma"):
    return Work(2.0 * batch * m * k * n, size * batch * (m * k + k * n), size * batch * m * n, unit)


def taps(size, window, stride=1):
    """The number of window elements along one axis that are not padding, under "SAME"."""
    out = -(-size // stride)
    before = max((out - 1) * stride + window - size, 0) // 2
    return sum(0 <= i * stride - before + k < size for i in range(out) for k in range(window))


def convolution(batch, size, window, inputs, outputs, stride=1, groups=1):
    """A direct convolution; products with padding do not count."""
    flops = 2.0 * batch * taps(size, window, stride) ** 2 * inputs * outputs / groups
    out = -(-size // stride)
    return Work(flops, 4.0 * (batch * size * size * inputs + window * window * inputs * outputs / groups),
                4.0 * batch * out * out * outputs)


def step(batch, layers, parameters, data):
    """A step of training with Adam. `layers` are (multiplications for an example, whether the gradient of its input is needed): each
    forward, for its weights and, where that is needed, for its input. Parameters and moments are read and written once."""
    flops = 2.0 * batch * sum(n * (3 if deep else 2) for n, deep in layers)
    return Work(flops, 12.0 * parameters + 4.0 * batch * data, 12.0 * parameters)


def mlp(batch):
    return step(batch, [(784 * 256, False), (256 * 128, True), (128 * 10, True)], 235146, 794)


def cnn(batch):
    return step(batch, [(taps(32, 3)**2 * 3 * 32, False), (taps(16, 3)**2 * 32 * 64, True), (4096 * 10, True)], 60362, 3073)


def gpt():
    """All scores count, including those that the mask hides, because no side leaves them out of a product."""
    width, sequence, layers, vocabulary = 256, 128, 4, 96
    weights = layers * 12 * width * width + width * vocabulary
    scores = layers * 2 * sequence * width
    parameters = weights + layers * 13 * width + (vocabulary + sequence + 2) * width + vocabulary
    return step(8 * sequence, [(weights + scores, True)], parameters, 2)


WORK = {
    "multiply_add": Work(0, 2 * LARGE, LARGE), "sum": Work(0, LARGE), "transpose": Work(0, SQUARE, SQUARE),
    **{f"matmul/{n}": product(n, n, n) for n in (256, 512, 1024, 2048)},
    **{f"matmul_by_{way}/512": product(512, 512, 512) for way in ("rows", "columns")},
    **{f"sharded_matmul_{way}/{n}/{devices}": product(n, n, n)
       for way in ("whole", "rows", "columns", "contracted", "grid") for n in (512, 2048) for devices in (4, 8)},
    "op/sqrt": Work(0, MATRIX, MATRIX),
    **{f"op/{name}": Work(0, MATRIX) for name in "sum_rows sum_columns max_rows max_columns argmax argmax_rows std_rows norm".split()},
    **{f"op/{name}": Work(0, MATRIX, MATRIX) for name in "cumsum_rows cumsum_columns transpose flip roll".split()},
    "op/nhwc_to_nchw": Work(0, IMAGES, IMAGES), "op/concatenate": Work(0, MATRIX, 2 * MATRIX),
    "op/pad": Work(0, IMAGES, IMAGES * 58 * 58 / 56 / 56), "op/where": Work(0, 2 * MATRIX, MATRIX),
    "op/take_rows": Work(0, MATRIX, 2 * MATRIX), "op/take_rows_gradient": Work(0, 2 * MATRIX, MATRIX),
    "op/add_rows_at": Work(0, 3 * MATRIX, MATRIX),
    "op/matrix_vector": product(2048, 1024, 1), "op/vector_matrix": product(1, 2048, 1024), "op/few_columns": product(2048, 1024, 16),
    "op/many_small": product(64, 64, 64, 256), "op/attention_scores": product(128, 64, 128, 32),
    "op/conv_3x3": convolution(32, 56, 3, 64, 64), "op/conv_1x1": convolution(32, 56, 1, 64, 128),
    "op/conv_3x3_strided": convolution(32, 56, 3, 64, 64, 2), "op/conv_depthwise": convolution(32, 56, 3, 64, 64, 1, 64),
    "op/conv_one_image": convolution(1, 56, 3, 64, 64),
    "op/max_pool": Work(0, IMAGES, IMAGES / 4), "op/max_pool_gradient": Work(0, IMAGES, IMAGES), "op/batch_norm": Work(0, IMAGES, IMAGES),
    "op/layer_norm_gradient": Work(0, 2 * MATRIX, MATRIX),
    "op/gradients_of_examples": Work(2 * 2.0 * 512 * 64 * 64),
    "op/solve": Work(2 / 3 * 1000**3, 4e6), "op/cholesky": Work(1 / 3 * 1000**3, 4e6, 4e6),
    "psum": Work(0, 4 * EACH, EACH), "all_gather": Work(0, 4 * EACH, 4 * EACH), "psum_scatter": Work(0, 4 * EACH, EACH),
    "all_to_all": Work(0, 4 * EACH, 4 * EACH), "ppermute": Work(0, 4 * EACH, 4 * EACH), "reshard/4": Work(0, SQUARE, SQUARE),
    **{f"mlp/{n}": mlp(512) for n in ("one", 4, 8)}, **{f"mlp_480/{n}": mlp(480) for n in (4, 96)},
    **{f"cnn/{n}": cnn(128) for n in ("one", 4, 8)}, **{f"cnn_96/{n}": cnn(96) for n in (4, 96)},
    "op/product_bfloat16": product(512, 512, 512, size=2, unit="bf16"), "op/product_int32": product(256, 256, 256, unit="int32"),
    "cnn_bf16/one": replace(cnn(128), unit="bf16"), "gpt_bf16/one": replace(gpt(), unit="bf16"),
    **{f"gpt/{n}": gpt() for n in ("one", 4, 8)}, **{f"gpt_{form}/4": gpt() for form in ("data", "fsdp", "tensor", "2x2")},
}

# Why the other rows have no limit, by the longest prefix of their names that matches.
WITHOUT = {
    "jit_": CALLS, "eager_add": CALLS, "eager_update": CALLS, "pmap_": CALLS, "grad_eager": CALLS, "sharded_plus_one": CALLS, "psum_": CALLS,
    "pmap_energy": FUNCTIONS, "jit_energy": FUNCTIONS, "eager_energy": FUNCTIONS, "chain": FUNCTIONS, "softmax": FUNCTIONS,
    "normals": FUNCTIONS, "op/": FUNCTIONS, "op/sort": ORDER, "op/argsort": ORDER, "op/add_at": ORDER, "rnn": CHAIN,
    "op/scan_elementwise": CHAIN, "op/fft": TRANSFORM, "from_jax": MODEL,
    "first:": COMPILING, "start:": COMPILING, "peak:": COMPILING,
}


def of(name):
    """A row's Work, or the reason why it has no limit."""
    return WORK.get(name) or WITHOUT[max((b for b in WITHOUT if name.startswith(b)), key=len)]
