"""Values of jitted functions beside NumPy's, of every kind that JAX's programs are made of."""
import unittest

import check
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)
FLOATS = (np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def floats(shape, dtype, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(dtype)


def integers(shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -50), min(info.max, 50), shape, dtype, endpoint=True)


class Elementwise(unittest.TestCase):
    UNARY = {"abs": (-2, 2), "negative": (-2, 2), "exp": (-5, 5), "exp2": (-5, 5), "expm1": (-1, 1), "log": (0.1, 9), "log1p": (-0.5, 9),
             "log2": (0.1, 9), "log10": (0.1, 9), "sqrt": (0, 9), "cbrt": (-9, 9), "sin": (-9, 9), "cos": (-9, 9), "tan": (-1, 1),
             "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-9, 9), "sinh": (-3, 3), "cosh": (-3, 3), "tanh": (-3, 3), "arcsinh": (-9, 9),
             "arccosh": (1, 9), "arctanh": (-0.9, 0.9), "floor": (-9, 9), "ceil": (-9, 9), "rint": (-9, 9), "trunc": (-9, 9), "sign": (-2, 2),
             "square": (-3, 3), "reciprocal": (0.5, 3), "deg2rad": (-180, 180), "signbit": (-1, 1), "isfinite": (-1, 1), "isnan": (-1, 1)}
    BINARY = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "hypot", "fmod", "remainder", "copysign",
              "nextafter", "logaddexp", "heaviside", "less", "less_equal", "equal", "not_equal", "greater")

    def test_functions_of_one_float(self):
        for dtype in FLOATS:
            for name, (low, high) in self.UNARY.items():
                x = floats((7, 33), dtype, low, high)
                compare = check.equal if name in ("signbit", "isfinite", "isnan") else check.close
                compare(jax.jit(getattr(jnp, name))(x), getattr(np, name)(x), f"{name} {dtype.__name__}")

    def test_functions_of_two_floats(self):
        for dtype in FLOATS:
            for name in self.BINARY:
                x, y = floats((5, 1, 8), dtype, 0.1, 3), floats((4, 8), dtype, 0.1, 3)
                got, want = jax.jit(getattr(jnp, name))(x, y), getattr(np, name)(x, y)
                (check.equal if want.dtype == bool or name == "nextafter" else check.close)(got, want, f"{name} {dtype.__name__}")

    def test_integers_wrap_around(self):
        for dtype in INTEGERS:
            x, y = integers((6, 40), dtype), integers((40,), dtype)
            for name in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "less", "equal"):
                with np.errstate(over="ignore"):
                    check.equal(jax.jit(getattr(jnp, name))(x, y), getattr(np, name)(x, y), f"{name} {dtype.__name__}")
            divisor = np.where(y == 0, dtype(3), y)
            check.equal(jax.jit(jnp.floor_divide)(x, divisor), x // divisor, f"floor_divide {dtype.__name__}")
            check.equal(jax.jit(jnp.remainder)(x, divisor), x % divisor, f"remainder {dtype.__name__}")

    def test_ends_of_the_range(self):
        for dtype in FLOATS:
            info = np.finfo(dtype)
            x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, 1.0], dtype)
            for name in ("exp", "log", "sqrt", "tanh", "reciprocal", "isnan", "isinf", "signbit", "sign"):
                with np.errstate(all="ignore"):
                    (check.equal if name in ("isnan", "isinf", "signbit", "sign") else check.close)(
                        jax.jit(getattr(jnp, name))(x), getattr(np, name)(x), f"{name} {dtype.__name__}")

    def test_complex(self):
        for dtype in (np.complex64, np.complex128):
            part = np.float32 if dtype == np.complex64 else np.float64
            x, y = (floats((3, 17), part, 0.2, 2) + 1j * floats((3, 17), part, 0.2, 2) for _ in range(2))
            for f in (np.add, np.multiply, np.divide):
                check.close(jax.jit(getattr(jnp, f.__name__))(x, y), f(x, y), f.__name__)
            for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "conj", "abs", "angle", "real", "imag"):
                check.close(jax.jit(getattr(jnp, name))(x), getattr(np, name)(x), name)


class Reductions(unittest.TestCase):
    def test_floats(self):
        for dtype in FLOATS:
            x = floats((5, 6, 70), dtype)
            for name in ("sum", "prod", "max", "min", "mean", "var", "std", "median"):
                for axis in (None, 0, 2, (0, 1)):
                    got = jax.jit(lambda v: getattr(jnp, name)(v, axis=axis))(x)
                    want = getattr(np, name)(x.astype(np.float64), axis=axis)
                    check.close(got, np.asarray(want, dtype), f"{name} {axis}", units=64)
            for name in ("argmax", "argmin"):
                check.equal(jax.jit(lambda v: getattr(jnp, name)(v, axis=1))(x), getattr(np, name)(x, axis=1), name)
            check.close(jax.jit(lambda v: jnp.cumsum(v, axis=2))(x), np.cumsum(x, axis=2, dtype=np.float64).astype(dtype), "cumsum", units=64)

    def test_integers_and_booleans(self):
        x = integers((9, 31), np.int32)
        for name in ("sum", "max", "min", "argmax", "argmin"):
            check.equal(jax.jit(lambda v: getattr(jnp, name)(v, axis=1))(x), getattr(np, name)(x, axis=1), name)
        for name in ("any", "all"):
            check.equal(jax.jit(lambda v: getattr(jnp, name)(v, axis=0))(x > 0), getattr(np, name)(x > 0, axis=0), name)

    def test_empty(self):
        check.equal(jax.jit(jnp.sum)(np.zeros((0, 3), np.float32)), np.float32(0))
        check.equal(jax.jit(lambda x: x + 1)(np.zeros((4, 0), np.float32)), np.zeros((4, 0), np.float32))
        check.raises(ValueError, "zero-size array", jax.jit(jnp.max), np.zeros((0,), np.float32))

    def test_windows(self):
        x = floats((2, 9, 9, 3), np.float32)
        got = jax.jit(lambda v: lax.reduce_window(v, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"))(x)
        check.equal(got, x[:, :8, :8].reshape(2, 4, 2, 4, 2, 3).max((2, 4)))


class Order(unittest.TestCase):
    def test_sorts(self):
        for dtype in (*FLOATS, np.int32, np.uint8):
            x = (floats if dtype in FLOATS else integers)((4, 257), dtype)
            check.equal(jax.jit(lambda v: jnp.sort(v, axis=1))(x), np.sort(x, axis=1))
            check.equal(jax.jit(lambda v: jnp.argsort(v, axis=1))(x), np.argsort(x, axis=1, kind="stable"))
        x = integers((500,), np.int32)
        values, indices = jax.jit(lambda v: lax.top_k(v, 5))(x)
        order = np.argsort(-x, kind="stable")[:5]
        check.equal(values, x[order])
        check.equal(indices, order.astype(np.int32))
        check.equal(jnp.unique(x), np.unique(x))
        check.equal(jax.jit(jnp.searchsorted)(np.sort(x), x), np.searchsorted(np.sort(x), x).astype(np.int32))

    def test_two_keys(self):
        a, b = integers((300,), np.int32) % 4, floats((300,), np.float32)
        check.equal(jax.jit(lambda x, y: jnp.lexsort((y, x)))(a, b), np.lexsort((b, a)))


class Indexing(unittest.TestCase):
    def test_reads(self):
        x = floats((6, 7, 8), np.float32)
        i, j = np.array([0, 5, -1, 2]), np.array([3, 3, 0, -7])
        for what, f in {"slice": lambda v: v[1:5:2, ::-1], "row": lambda v: v[2], "two": lambda v: v[i, j], "outer": lambda v: v[:, i[:, None] % 6, j],
                        "new axis": lambda v: v[None, ..., 0], "take": lambda v: v.take(i, axis=1), "transposed": lambda v: v.transpose(2, 0, 1)}.items():
            check.equal(jax.jit(f)(x), f(x), what)
        check.equal(jax.jit(lambda v, m: jnp.where(m, v, 0))(x, x > 0), np.where(x > 0, x, np.float32(0)))
        check.equal(jax.jit(lambda v, k: lax.dynamic_slice(v, (k, 0, 0), (2, 7, 8)))(x, 3), x[3:5])
        check.equal(jax.jit(lambda v: jnp.concatenate([v, v[:2]], 0))(x), np.concatenate([x, x[:2]]))
        check.equal(jax.jit(lambda v: jnp.pad(v, ((1, 2), (0, 0), (3, 0))))(x), np.pad(x, ((1, 2), (0, 0), (3, 0))))
        check.equal(jax.jit(lambda v: jnp.roll(v, 3, axis=1))(x), np.roll(x, 3, axis=1))
        check.equal(jax.jit(lambda v: jnp.tile(v, (2, 1, 3)))(x), np.tile(x, (2, 1, 3)))

    def test_writes(self):
        x, i = integers((50, 4), np.int32), np.array([3, 9, 3, 0])
        y = integers((4, 4), np.int32)
        want = x.copy()
        np.add.at(want, i, y)
        check.equal(jax.jit(lambda v, u: v.at[i].add(u))(x, y), want)
        want = x.copy()
        np.maximum.at(want, i, y)
        check.equal(jax.jit(lambda v, u: v.at[i].max(u))(x, y), want)
        want = x.copy()
        want[10:14] = y
        check.equal(jax.jit(lambda v, u: v.at[10:14].set(u))(x, y), want)
        check.equal(jax.jit(lambda v, u: lax.dynamic_update_slice(v, u, (10, 0)))(x, y), want)


class Products(unittest.TestCase):
    def test_matrices(self):
        for dtype in FLOATS:
            for m, k, n in ((1, 1, 1), (7, 5, 3), (64, 100, 33), (130, 257, 129)):
                a, b = floats((m, k), dtype), floats((k, n), dtype)
                check.close(jax.jit(jnp.matmul)(a, b), (a.astype(np.longdouble) @ b).astype(dtype), f"{m} {k} {n}", units=64)

    def test_einsum(self):
        a, b = floats((3, 4, 5, 6), np.float32), floats((3, 6, 4, 2), np.float32)
        for spec in ("abcd,adbe->abce", "abcd,adbe->ace", "abcd,adbe->eb"):
            want = np.einsum(spec, a.astype(np.float64), b).astype(np.float32)
            check.close(jax.jit(lambda x, y: jnp.einsum(spec, x, y))(a, b), want, spec, units=64)
        x, y = integers((9, 8), np.int32), integers((8, 5), np.int32)
        check.equal(jax.jit(jnp.dot)(x, y), x @ y)

    def test_convolution(self):
        x, k = floats((2, 3, 10, 9), np.float32), floats((4, 3, 3, 2), np.float32)
        got = jax.jit(lambda a, b: lax.conv(a, b, (1, 1), "VALID"))(x, k)
        want = np.zeros((2, 4, 8, 8))
        for i in range(3):
            for j in range(2):
                want += np.einsum("bchw,oc->bohw", x[:, :, i:i + 8, j:j + 8].astype(np.float64), k[:, :, i, j])
        check.close(got, want.astype(np.float32), units=64)

    def test_linear_algebra(self):
        for dtype in FLOATS:
            a = floats((3, 12, 12), dtype)
            spd = a @ a.swapaxes(1, 2) + 12 * np.eye(12, dtype=dtype)
            b = floats((3, 12, 4), dtype)
            check.close(jax.jit(jnp.linalg.cholesky)(spd), np.linalg.cholesky(spd), units=64)
            check.close(jax.jit(jnp.linalg.solve)(spd, b), np.linalg.solve(spd, b), units=512)
            check.close(jax.jit(jnp.linalg.eigvalsh)(spd), np.linalg.eigvalsh(spd), units=64)
            check.close(jax.jit(lambda x: jnp.linalg.svd(x, compute_uv=False))(a), np.linalg.svd(a, compute_uv=False), units=64)
            check.close(jax.jit(jnp.linalg.det)(spd), np.linalg.det(spd), units=512)
            q, r = jax.jit(jnp.linalg.qr)(a)
            check.close(np.asarray(q) @ np.asarray(r), a, units=64)
            w, v = jax.jit(jnp.linalg.eigh)(spd)
            check.close((np.asarray(v) * np.asarray(w)[:, None, :]) @ np.asarray(v).swapaxes(1, 2), spd, units=256)

    def test_fourier(self):
        for dtype in FLOATS:
            x = floats((4, 60), dtype)
            check.close(jax.jit(jnp.fft.rfft)(x), np.fft.rfft(x).astype(np.result_type(dtype, np.complex64)), units=32)
            check.close(jax.jit(lambda v: jnp.fft.irfft(jnp.fft.rfft(v)))(x), x, units=32)
            z = x[:, :30] + 1j * x[:, 30:]
            check.close(jax.jit(jnp.fft.fft2)(z), np.fft.fft2(z).astype(z.dtype), units=32)


class ControlFlow(unittest.TestCase):
    def test_loops(self):
        x = floats((20, 5), np.float64)
        total, steps = jax.jit(lambda v: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(5), v))(x)
        sums = np.cumsum(x, 0)
        check.close(total, sums[-1])
        check.close(steps, np.concatenate([np.zeros((1, 5)), sums[:-1]]) * x)
        check.equal(jax.jit(lambda n: lax.while_loop(lambda s: s[0] * s[0] < n, lambda s: (s[0] + 1, s[1] + s[0]), (0, 0)))(90)[1], np.int64(45))
        check.equal(jax.jit(lambda n: lax.fori_loop(0, n, lambda i, s: s + i * i, 0))(11), np.int64(385))

    def test_branches(self):
        f = jax.jit(lambda i, v: lax.switch(i, [lambda u: u + 1, lambda u: u * 2, lambda u: -u], v))
        for i, want in ((-1, 4.0), (0, 4.0), (1, 6.0), (2, -3.0), (7, -3.0)):
            check.equal(f(i, 3.0), np.float64(want))
        check.equal(jax.jit(lambda p, v: lax.cond(p, jnp.sin, jnp.cos, v))(True, 0.0), np.float64(0))

    def test_associative_scan(self):
        x = integers((37,), np.int64)
        check.equal(jax.jit(lambda v: lax.associative_scan(jnp.add, v))(x), np.cumsum(x))


class Transformations(unittest.TestCase):
    def test_gradients(self):
        x = floats((6,), np.float64)
        check.close(jax.jit(jax.grad(lambda v: jnp.sum(jnp.sin(v) ** 2)))(x), np.sin(2 * x))
        check.close(jax.jit(jax.hessian(lambda v: jnp.prod(v)))(x[:2]), np.array([[0, 1], [1, 0.0]]))
        j = np.diag(np.exp(x))
        check.close(jax.jit(jax.jacfwd(jnp.exp))(x), j)
        check.close(jax.jit(jax.jacrev(jnp.exp))(x), j)
        check.close(jax.jit(jax.grad(lambda v: lax.scan(lambda c, _: (c * v, None), 1.0, None, length=5)[0]))(1.5), np.float64(5 * 1.5 ** 4))
        value, tangent = jax.jit(lambda v: jax.jvp(jnp.tanh, (v,), (jnp.ones_like(v),)))(x)
        check.close(tangent, 1 - np.tanh(x) ** 2)
        check.close(jax.jit(jax.checkpoint(jax.grad(lambda v: jnp.sum(v ** 3))))(x), 3 * x ** 2)

    def test_custom_gradient(self):
        @jax.custom_vjp
        def f(v):
            return v * v
        f.defvjp(lambda v: (v * v, v), lambda v, g: (g * 100 * v,))
        check.equal(jax.jit(jax.grad(f))(2.0), np.float64(200))

    def test_batches(self):
        a, b = floats((5, 3, 4), np.float64), floats((5, 4), np.float64)
        check.close(jax.jit(jax.vmap(jnp.dot))(a, b), np.einsum("bij,bj->bi", a, b))
        check.close(jax.vmap(jax.vmap(lambda x, y: x * y, (0, None)), (None, 0))(b[0], b[1]), np.outer(b[1], b[0]))
        check.close(jax.jit(jax.vmap(jax.grad(lambda v: jnp.sum(v ** 2))))(b), 2 * b)

    def test_training_step(self):
        x, y = floats((32, 8), np.float64), floats((32, 1), np.float64)
        params = {"w1": floats((8, 16), np.float64), "b1": np.zeros(16), "w2": floats((16, 1), np.float64)}

        def loss(p):
            return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)

        got = jax.jit(jax.grad(loss))(params)
        h = np.tanh(x @ params["w1"] + params["b1"])
        r = 2 * (h @ params["w2"] - y) / 32
        back = r @ params["w2"].T * (1 - h * h)
        check.close(got["w2"], h.T @ r, units=64)
        check.close(got["w1"], x.T @ back, units=64)
        check.close(got["b1"], back.sum(0), units=64)


class Random(unittest.TestCase):
    def test_bits_are_those_of_jax(self):
        for draw in (lambda k: jax.random.uniform(k, (33,), np.float32), lambda k: jax.random.randint(k, (33,), 0, 1000),
                     lambda k: jax.random.permutation(k, 50), lambda k: jax.random.bernoulli(k, 0.3, (40,)),
                     lambda k: jax.random.key_data(jax.random.split(k, 7)), lambda k: jax.random.categorical(k, np.zeros(9), shape=(30,))):
            check.equal(draw(jax.random.key(3)), jaxlib_value(lambda: draw(jax.random.key(3))))

    def test_normal(self):
        x = np.asarray(jax.random.normal(jax.random.key(5), (40000,), np.float64))
        check.true(abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02, "mean and spread")


def jaxlib_value(f):
    """The value on jaxlib's own CPU client, which stays there as the backend "cpu"."""
    with jax.default_device(jax.devices("cpu")[0]):
        return np.asarray(f())


class DTypes(unittest.TestCase):
    NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz")

    def test_narrow_floats(self):
        for name in (*self.NARROW, "float16"):
            dtype = np.dtype(getattr(ml_dtypes, name, name))
            x = floats((50,), np.float32, 0.5, 2).astype(dtype)
            check.equal(jax.device_put(x), x, f"{name} there and back")
            check.equal(jax.jit(lambda v: v.astype(jnp.float32))(x), x.astype(np.float32), f"{name} to float32")
            y = floats((50,), np.float32)
            check.equal(jax.jit(lambda v: v.astype(dtype))(y), y.astype(dtype), f"float32 to {name}")

    def test_half_precision_arithmetic(self):
        for dtype in (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)):
            x, y = floats((64,), np.float32).astype(dtype), floats((64,), np.float32).astype(dtype)
            wide = x.astype(np.float32), y.astype(np.float32)
            check.equal(jax.jit(jnp.add)(x, y), (wide[0] + wide[1]).astype(dtype))
            check.equal(jax.jit(jnp.multiply)(x, y), (wide[0] * wide[1]).astype(dtype))

    def test_integers_of_four_bits(self):
        for name, low, high in (("int4", -8, 8), ("uint4", 0, 16)):
            x = np.arange(low, high).astype(getattr(ml_dtypes, name))
            check.equal(jax.device_put(x), x, name)
            check.equal(jax.jit(lambda v: v.astype(jnp.int32))(x), np.arange(low, high, dtype=np.int32), name)

    def test_conversions(self):
        kinds = (*FLOATS, *INTEGERS, np.bool_)
        for source in kinds:
            x = np.array([0, 1, 2, 7, 100], source)
            for target in kinds:
                check.equal(jax.jit(lambda v: v.astype(target))(x), x.astype(target), f"{source.__name__} to {target.__name__}")

    def test_without_64_bits(self):
        jax.config.update("jax_enable_x64", False)
        try:
            check.equal(jax.jit(lambda v: v + 1)(np.arange(3)), np.arange(1, 4, dtype=np.int32))
        finally:
            jax.config.update("jax_enable_x64", True)


class Transfers(unittest.TestCase):
    def test_layouts_of_numpy(self):
        x = floats((8, 10, 12), np.float32)
        for what, v in {"transposed": x.T, "strided": x[::2, ::3], "reversed": x[::-1], "Fortran": np.asfortranarray(x), "offset": x[1:, 3:],
                        "broadcast": np.broadcast_to(x[0, 0], (5, 12)), "scalar": np.float32(3), "empty": x[:, :0]}.items():
            check.equal(jax.device_put(v), v, what)
            check.equal(jax.jit(lambda u: u * 2)(v), v * 2, what)

    def test_numpy_reads_in_place(self):
        x = jax.device_put(np.arange(1000.0))
        a, b = np.asarray(x), np.asarray(x)
        check.true(np.shares_memory(a, b), "two views of one array")
        check.true(not a.flags.writeable, "a view cannot be written")

    def test_what_is_put_does_not_change(self):
        source = np.arange(1000.0)
        x = jnp.array(source)
        source[:] = -1
        check.equal(x, np.arange(1000.0))

    def test_dlpack(self):
        x = jnp.arange(12.0).reshape(3, 4)
        check.equal(np.from_dlpack(x), np.arange(12.0).reshape(3, 4))
        check.equal(jnp.from_dlpack(np.arange(6.0)), np.arange(6.0))
        memory = np.zeros(1024, np.uint8)
        start = -memory.ctypes.data % 64
        shared, odd = (memory[at:at + 80].view(np.float64) for at in (start, start + 128 + 8))
        view, copy = jnp.from_dlpack(shared, copy=False), jnp.from_dlpack(odd)
        shared[:] = odd[:] = np.arange(10.0)
        check.equal(view, np.arange(10.0), "memory that is aligned is shared")
        check.equal(copy, np.zeros(10), "memory that is not aligned is copied")
        check.raises(ValueError, "is not aligned to 64 bytes", lambda: jnp.from_dlpack(odd, copy=False))

    def test_views_outlive_arrays(self):
        views = [np.asarray(jnp.full((1000,), float(i))) for i in range(50)]
        for i, v in enumerate(views):
            check.true((v == i).all(), "a view whose array is gone")


class Platform(unittest.TestCase):
    def test_it_is_tessera(self):
        check.true(check.is_tessera(jax.devices()[0]), "the default device is Tessera's")
        check.true(not check.is_tessera(jax.devices("cpu")[0]), "the backend cpu is jaxlib's")
        check.equal(jax.default_backend() == "cpu", True)

    def test_costs(self):
        lowered = jax.jit(lambda x, y: x @ y + 1).lower(np.ones((4, 5)), np.ones((5, 6)))
        for costs in (lowered.cost_analysis(), lowered.compile().cost_analysis()):
            check.equal(costs["flops"], 2.0 * 4 * 5 * 6 + 4 * 6)

    def test_between_the_backends(self):
        x = jax.device_put(np.arange(5.0), jax.devices("cpu")[0])
        y = jax.device_put(x, jax.devices("tessera")[0])
        check.equal(y, np.arange(5.0))
        check.true(y.devices() == {jax.devices("tessera")[0]}, "the array is on Tessera's device")
        check.equal(jax.device_put(y, jax.devices("cpu")[0]), np.arange(5.0))
        check.equal(jax.jit(lambda v: v * 2)(x), np.arange(5.0) * 2)
        check.true(not check.is_tessera(next(iter(jax.jit(lambda v: v * 2)(x).devices()))), "a jit runs where its argument is")


if __name__ == "__main__":
    check.main()
