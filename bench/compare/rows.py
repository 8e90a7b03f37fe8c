"""The rows of the comparison: the names that the programs share, their titles in the table, and remarks from profiling."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    jax: int = 1  # virtual devices of JAX's process; 0: no counterpart
    torch: tuple = ()  # PyTorch's sides, which run one device: "eager", "compiled", "libtorch"
    goal: float = 1.0  # the goal for the ratio of JAX's time to ours
    amount: float = 0.0  # work of one call, for a rate
    unit: str = ""
    forms: tuple = ("pmap", "jit", "shard_map")  # the form of JAX's program if it has several devices
    kind: str = "steady"  # or "first": a process's first call; "start": a process to its first result; "peak": memory
    note: str = ""

    @property
    def program(self):
        """The name by which the programs know the row."""
        return self.name if self.kind == "steady" else self.name.split(":", 1)[1]

    def programs(self, side):
        """{form: the row as a side's program knows it}; JAX has several forms of what runs on several devices."""
        if side == "jax" and self.jax > 1:
            return {form: f"{self.program}@{form}" for form in self.forms}
        return {"": self.program + {"eager": "@eager", "compiled": "@compile"}.get(side, "")}

    @property
    def shares(self):
        """Whether devices share memory in this row that isolated devices would not share."""
        return self.jax > 1 and self.kind == "steady"


BOTH = ("eager", "compiled")
LARGE = 16 * 1024 * 1024
SQUARE = 4096 * 4096


def energy(side, title, n, **more):
    return Row(f"{side}_energy/{n}", f"{title} {n:.0e}".replace("e+0", "e"), goal=3, amount=16e-9 * n, unit="GB/s", **more)


def training(name, title, devices, **more):
    return Row(f"{name}/{devices or 'one'}", f"{title}, {f'{devices} devices' if devices else 'one device'}", jax=devices or 1,
               torch=() if devices else BOTH, **more)


def first(name, title, devices, torch=("compiled",), **more):
    which = devices or "one"
    return Row(f"first:{name}/{which}", f"{title} first call, {f'{devices} devices' if devices else 'one device'}",
               jax=devices or 1, torch=() if devices else torch, goal=3, kind="first",
               note="tracing, derivatives, planning, LLVM and one step; nothing cached on disk", **more)


def from_jax(name, title):
    """A model whose file both sides read."""
    return [Row(f"from_jax/{name}", title, goal=2),
            Row(f"first:from_jax/{name}", f"{title}, first call", goal=2, kind="first", note="of the function that the file holds; nothing cached on disk")]


def sharded(way, title, goal=1.0, **more):
    """A product of whole arrays over a mesh."""
    return [Row(f"sharded_matmul_{way}/{n}/{devices}", f"matmul {n}, {title}, {devices} devices", devices, goal=goal,
                amount=2e-9 * n**3, unit="GFLOP/s", forms=("jit", "shard_map"), **more)
            for n in (512, 2048) for devices in (4, 8)]


def alone(*names):
    """Operations without parameters, under readable titles; PyTorch has no cube root."""
    return [Row(f"op/{n}", n.replace("_", " "), torch=BOTH if n != "cbrt" else ()) for n in names]


GROUPS = {
    "Calls": [
        Row("jit_scalar", "jit of one scalar op", torch=(*BOTH, "libtorch"), goal=3,
            note="signature check, one kernel, one result"),
        Row("jit_tree_100", "jit over a tree of 100 leaves", torch=(*BOTH, "libtorch"), goal=3,
            note="a third is malloc and free: a handle, a record and a buffer for each result"),
        Row("eager_add", "eager `x + x`", torch=("eager", "libtorch"), goal=3,
            note="the compiled program of the last such call is found by its types, without hashing"),
        Row("eager_update", "eager `w - 0.1 * (g + 0.01 * w)`", torch=("eager", "libtorch"), goal=3),
        Row("pmap_plus_one", "pmap `x + 1`, (4, 8)", 4, goal=3,
            note="runs on the caller's thread"),
        Row("pmap_psum", "pmap `psum`, (4, 8)", 4, goal=3,
            note="runs on the caller's thread; one pass over the devices' blocks"),
        Row("pmap_chained", "pmap fed its own output", 4, goal=3),
        Row("grad_eager", "grad of a function, traced at each call", torch=("eager", "libtorch"), goal=3,
            note="traced and hashed each time: its result depends on what the callable captures"),
    ],
    "Array programs": [
        *(energy("pmap", "pmap sum(x^2 + sin x cos x), 4 x", n, jax=4, torch=BOTH) for n in (1000, 10000, 100000, 1000000)),
        *(energy("jit", "sequential, jit, 4 x", n, torch=("compiled",)) for n in (1000, 10000, 100000, 1000000)),
        *(energy("eager", "sequential, eager, 4 x", n, torch=("eager",)) for n in (1000, 10000, 100000, 1000000)),
        Row("multiply_add", "v * 3 + w, 16 M", torch=BOTH, goal=3, amount=12e-9 * LARGE, unit="GB/s",
            note="one pass over memory; the result's pages are warm"),
        Row("chain", "log1p exp tanh, 16 M", torch=BOTH, goal=3, amount=1e-6 * LARGE, unit="M/s",
            note="the functions are emitted in place: one pass, some eighty instructions a vector of elements"),
        Row("sum", "sum, 16 M", torch=BOTH, amount=4e-9 * LARGE, unit="GB/s",
            note="reads only: all sides at the speed of memory"),
        Row("softmax", "softmax of rows, 4096 x 4096", torch=BOTH, amount=8e-9 * SQUARE, unit="GB/s",
            note="one kernel, a row at a time in the cache"),
        Row("transpose", "transpose, 4096 x 4096", torch=BOTH, amount=8e-9 * SQUARE, unit="GB/s",
            note="squares of registers"),
        Row("normals", "4 M normals", torch=BOTH, amount=4 * 1.048576, unit="M/s",
            note="Threefry and the inverse error function in one kernel; PyTorch's are Box-Muller's of another generator"),
        *(Row(f"matmul/{n}", f"matmul {n}", torch=BOTH, goal=0.95, amount=2e-9 * n**3, unit="GFLOP/s",
              note="generated inner loops, in blocks by shape alone") for n in (256, 512, 1024, 2048)),
        Row("matmul_by_rows/512", "matmul 512, rows over 4 devices", 4, amount=2e-9 * 512**3, unit="GFLOP/s",
            note="a task a device"),
        Row("matmul_by_columns/512", "matmul 512, columns over 4 devices", 4, amount=2e-9 * 512**3, unit="GFLOP/s"),
        Row("rnn", "RNN of 64, scan of 1,000 steps", torch=BOTH,
            note="one fused kernel a step, whose operands are looked up once a loop"),
        Row("rnn_grad", "... its gradient", torch=("eager",),
            note="two thirds are arithmetic with subnormal numbers, in which the gradient vanishes; JAX takes them for zero"),
        Row("rnn_grad_flushed", "... its gradient, subnormal numbers taken for zeros",
            note="`set_flush_denormal(true)`: what XLA always does"),
    ],
    "Functions of 2 M elements": alone(
        "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "arcsin", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arctanh",
        "erf", "erfc", "sqrt", "cbrt", "pow", "silu", "softplus", "gelu", "gelu_exact", "uniform"),
    "Operations alone": alone(
        "sum_rows", "sum_columns", "max_rows", "max_columns", "argmax", "argmax_rows", "std_rows", "norm", "logsumexp_rows",
        "cumsum_rows", "cumsum_columns", "sort_rows", "argsort_rows", "transpose", "nhwc_to_nchw", "concatenate", "pad", "flip",
        "roll", "where", "take_rows", "take_rows_gradient", "add_at", "add_rows_at", "matrix_vector", "vector_matrix",
        "few_columns", "many_small", "attention_scores", "product_bfloat16", "product_int32", "conv_3x3", "conv_1x1",
        "conv_3x3_strided", "conv_depthwise", "conv_one_image", "max_pool", "max_pool_gradient", "batch_norm",
        "layer_norm_gradient", "softmax_gradient", "cross_entropy", "cross_entropy_gradient", "scan_elementwise",
        "gradients_of_examples", "categorical", "fft_line", "fft_rows", "solve", "cholesky"),
    "Collectives, 4 devices": [
        Row("psum", "psum, 16 MB a device", 4,
            note="one pass over the four blocks; the result is stored once for all devices"),
        Row("all_gather", "all_gather, 16 MB a device", 4,
            note="the result is stored once for all devices"),
        Row("psum_scatter", "psum_scatter, 16 MB a device", 4,
            note="each device's slab in one pass"),
        Row("all_to_all", "all_to_all, 16 MB a device", 4,
            note="copies of slabs"),
        Row("ppermute", "ppermute of x + 1, 16 MB a device", 4,
            note="one pass that adds, one that copies the blocks to their places"),
        Row("psum_100", "psum of 100 arrays of 1,000", 4,
            note="one phase of a hundred additions, and a hundred results"),
        Row("psum_chain", "100 psums of 1,000, one after the other", 4, forms=("pmap", "shard_map"),
            note="a phase each; no thread waits for another"),
    ],
    "Whole arrays over a mesh": [
        *sharded("whole", "replicated",
            note="computed once, not once a device"),
        *sharded("rows", "by rows"),
        *sharded("columns", "by columns"),
        *sharded("contracted", "contracted"),
        *sharded("grid", "2-D"),
        Row("reshard/4", "64 MB from rows to columns", 4, forms=("jit", "put"),
            note="rows are read as they lie, and written past the caches"),
        Row("sharded_plus_one", "jit `x + 1`, (4, 8) by rows", 4, goal=3, forms=("jit",)),
        *(Row(f"gpt_{form}/4", f"GPT, {title}, 4 devices", 4, forms=("jit",)) for form, title in (
            ("data", "data parallel by specs"), ("fsdp", "fully sharded"), ("tensor", "tensor"), ("2x2", "2 x 2"))),
    ],
    "Training": [
        training("mlp", "MLP", 0,
            note="nine tenths in matrix products"),
        training("mlp", "MLP", 4),
        training("mlp", "MLP", 8,
            note="the update runs once, not once a device"),
        training("mlp_480", "MLP, batch 480", 4),
        training("mlp_480", "MLP, batch 480", 96,
            note="weights' gradients are one product over the rows of all devices; a forward product of 5 rows is a call of 1 to 13 us, at three quarters of a large one's speed"),
        first("mlp", "MLP", 0),
        first("mlp", "MLP", 4),
        training("cnn", "CNN", 0, goal=3,
            note="three quarters in convolutions"),
        training("cnn", "CNN", 4, goal=3),
        training("cnn", "CNN", 8, goal=3),
        training("cnn_96", "CNN, batch 96", 4, goal=3),
        training("cnn_96", "CNN, batch 96", 96, goal=3,
            note="one image a device"),
        training("cnn_bf16", "CNN in bfloat16", 0, goal=3,
            note="multiplied as it is where the processor has units for it, else widened to float32 where it is read, and rounded"),
        first("cnn", "CNN", 0),
        first("cnn", "CNN", 4),
        training("gpt", "GPT", 0,
            note="four fifths in matrix products"),
        training("gpt", "GPT", 4),
        training("gpt", "GPT", 8),
        training("gpt_bf16", "GPT in bfloat16", 0,
            note="norms, softmax and loss in float32"),
        first("gpt", "GPT", 0),
        first("gpt", "GPT", 4),
        *(first(f"gpt_{form}", f"GPT, {title},", 4, forms=("jit",)) for form, title in (("fsdp", "fully sharded"), ("2x2", "2 x 2"))),
        first("gpt_deep", "GPT of 48 layers", 0, torch=()),
    ],
    "Processes": [
        *from_jax("resnet", "ResNet-18 exported by JAX, 8 images"),
        *from_jax("transformer", "transformer exported by JAX, a token"),
        *from_jax("diffusion", "diffusion step exported by JAX"),
        Row("start:jit_scalar", "start of a process to its first result", torch=BOTH, kind="start"),
        Row("peak:cnn/one", "peak memory, five CNN steps, one device", torch=BOTH, kind="peak"),
        Row("peak:gpt/one", "peak memory, five GPT steps, one device", torch=BOTH, kind="peak"),
        Row("peak:cnn/4", "peak memory, five CNN steps, 4 devices", 4, kind="peak"),
        Row("peak:cnn/8", "peak memory, five CNN steps, 8 devices", 8, kind="peak"),
        Row("peak:gpt/8", "peak memory, five GPT steps, 8 devices", 8, kind="peak"),
    ],
}

# Pairs of rows with the same work, the first on more virtual devices. It should cost at most `goal` times the second.
DEVICES = [
    ("mlp/8", "mlp/4", 1.1, "MLP, 8 devices over 4"),
    ("cnn/8", "cnn/4", 1.1, "CNN, 8 devices over 4"),
    ("gpt/8", "gpt/4", 1.1, "GPT, 8 devices over 4"),
    ("gpt_data/4", "gpt/4", 1.05, "GPT, data parallel by specs over pmap"),
    *((f"gpt_{form}/4", "gpt/one", 1.3, f"GPT, {form} over one device") for form in ("data", "fsdp", "tensor", "2x2")),
    ("mlp_480/96", "mlp_480/4", 1.3, "MLP, batch 480, 96 devices over 4"),
    ("cnn_96/96", "cnn_96/4", 1.3, "CNN, batch 96, 96 devices over 4"),
]
