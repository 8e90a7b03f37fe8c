"""Makes linalg.safetensors: results of jax 0.10.2 on CPU for jax.numpy.fft and jax.numpy.linalg, over drawn shapes and dtypes.

A case is "<function>/<number>/in<i>" and ".../out<i>"; complex numbers are stored as pairs, and their names end in "c".
Factors that are determined only up to signs or their order are not stored: the tests compare their product with the matrix."""
import pathlib

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

import tensor_file

assert jax.__version__ == "0.10.2", jax.__version__
jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(12)
tensors, counts = {}, {}


def put(name, x):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        x, name = np.stack([x.real, x.imag], -1), name + "c"
    tensors[name] = x


def case(name, f, *inputs):
    key = f"{name}/{counts.setdefault(name, 0)}"
    counts[name] += 1
    for i, x in enumerate(inputs):
        put(f"{key}/in{i}", x)
    for i, y in enumerate(jax.tree.leaves(f(*[jnp.asarray(x) for x in inputs]))):
        put(f"{key}/out{i}", y)


def draw(dtype, *shape):
    if dtype.startswith("complex"):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if dtype.startswith(("int", "uint")):
        return rng.integers(0, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def definite(dtype, *shape):
    x = draw(dtype, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


REAL, ALL = ("float32", "float64"), ("float32", "float64", "complex64", "complex128")
F = jnp.fft
for d in ("int32", "uint8") + ALL:
    for n in (1, 2, 5, 8, 12, 17, 30):
        case("fft", F.fft, draw(d, 2, n))
    case("ifft", F.ifft, draw(d, 3, 14))
    case("fft n=5 axis=0", lambda x: F.fft(x, n=5, axis=0), draw(d, 3, 2))
    case("ifft n=3 axis=1 ortho", lambda x: F.ifft(x, n=3, axis=1, norm="ortho"), draw(d, 2, 6, 2))
    case("fft forward", lambda x: F.fft(x, norm="forward"), draw(d, 7))
    case("fft2", F.fft2, draw(d, 2, 3, 4))
    case("ifft2", F.ifft2, draw(d, 3, 6))
    case("fftn", F.fftn, draw(d, 2, 3, 4))
    case("fftn s=4,3 axes=2,0", lambda x: F.fftn(x, s=(4, 3), axes=(2, 0)), draw(d, 2, 2, 5))
    case("ifftn", F.ifftn, draw(d, 2, 2, 3))
    case("fftshift", F.fftshift, draw(d, 4, 5))
    case("ifftshift 1", lambda x: F.ifftshift(x, axes=1), draw(d, 4, 5))
    case("irfft", F.irfft, draw(d, 2, 5))
    case("irfft n=9", lambda x: F.irfft(x, n=9), draw(d, 2, 5))
    case("hfft", F.hfft, draw(d, 2, 5))
    case("irfft2", F.irfft2, draw(d, 3, 4))
    case("irfftn", F.irfftn, draw(d, 2, 3, 4))
    if not d.startswith("complex"):
        for n in (1, 2, 7, 10):
            case("rfft", F.rfft, draw(d, 2, n))
        case("ihfft ortho", lambda x: F.ihfft(x, norm="ortho"), draw(d, 6))
        case("rfft2", F.rfft2, draw(d, 3, 4))
        case("rfftn", F.rfftn, draw(d, 2, 3, 5))
for n in (1, 6, 7):
    put(f"fftfreq/{n}/out0", F.fftfreq(n, 0.5))
    put(f"rfftfreq/{n}/out0", F.rfftfreq(n, 0.5))

L = jnp.linalg
for d in ALL:
    for shape in ((1, 1), (3, 3), (2, 4, 4)):
        case("cholesky", L.cholesky, definite(d, *shape))
        case("cholesky upper", lambda x: L.cholesky(x, upper=True), definite(d, *shape))
        case("solve", L.solve, draw(d, *shape), draw(d, *shape[:-1], 2))
        case("inv", L.inv, draw(d, *shape))
        case("det", L.det, draw(d, *shape))
        case("slogdet", L.slogdet, draw(d, *shape))
        case("expm", jsl.expm, draw(d, *shape))
        case("matrix_power 3", lambda x: L.matrix_power(x, 3), draw(d, *shape))
        case("matrix_power -2", lambda x: L.matrix_power(x, -2), draw(d, *shape))
        case("eigvalsh", L.eigvalsh, definite(d, *shape))
        case("cond", L.cond, draw(d, *shape))
        case("cond 1", lambda x: L.cond(x, 1), draw(d, *shape))
    for shape in ((2, 3), (4, 2), (2, 3, 5)):
        case("svdvals", L.svdvals, draw(d, *shape))
        case("pinv", L.pinv, draw(d, *shape))
        case("matrix_rank", L.matrix_rank, draw(d, *shape))
        for o in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            case(f"matrix_norm {o}", lambda x: L.matrix_norm(x, ord=o), draw(d, *shape))
        for o in (1, 2, 3, np.inf):
            case(f"vector_norm {o}", lambda x: L.vector_norm(x, ord=o, axis=-1), draw(d, *shape))
    case("lu", jsl.lu, draw(d, 4, 4))
    case("lu", jsl.lu, draw(d, 3, 5))
    case("lu", jsl.lu, draw(d, 5, 2))
    case("lu_factor", jsl.lu_factor, draw(d, 4, 4))
    for t in (0, 1, 2):
        case(f"lu_solve {t}", lambda a, b: jsl.lu_solve(jsl.lu_factor(a), b, trans=t), draw(d, 4, 4), draw(d, 4))
        case(f"solve_triangular {t}", lambda a, b: jsl.solve_triangular(a, b, trans=t, lower=t == 1), draw(d, 3, 3) + 3 * np.eye(3, dtype=d), draw(d, 3, 2))
    case("cho_solve", lambda a, b: jsl.cho_solve(jsl.cho_factor(a), b), definite(d, 3, 3), draw(d, 3, 2))
    case("lstsq", lambda a, b: L.lstsq(a, b)[0], draw(d, 5, 3), draw(d, 5))
    case("lstsq", lambda a, b: L.lstsq(a, b)[0], draw(d, 2, 4), draw(d, 2, 2))
    case("multi_dot", lambda a, b, c: L.multi_dot([a, b, c]), draw(d, 2, 3), draw(d, 3, 5), draw(d, 5))
    case("tensorinv", L.tensorinv, draw(d, 2, 3, 6))
    case("tensorsolve", L.tensorsolve, draw(d, 2, 3, 6), draw(d, 2, 3))
    case("norm 2", lambda x: L.norm(x, ord=2), draw(d, 3, 4))
for d in ("int32", "int8", "float16"):
    case("solve", L.solve, draw("int32", 3, 3) + 9 * np.eye(3, dtype="int32"), draw("int32", 3)) if d == "int32" else None
    case("norm 2", lambda x: L.norm(x.astype("float32"), ord=2), draw("int32", 3, 4))

K = jax.lax.linalg
for d in ALL:
    for n, k in ((1, 2), (2, 1), (5, 3)):
        case("tridiagonal_solve", K.tridiagonal_solve, draw(d, 2, n), (draw(d, 2, n) * (np.arange(n) % 3 > 0)).astype(d), draw(d, 2, n), draw(d, 2, n, k)) if n > 1 else None
        case("tridiagonal_solve", K.tridiagonal_solve, draw(d, n), draw(d, n), draw(d, n), draw(d, n, k))
    for shape in ((1, 1), (2, 2), (2, 5, 5)):
        case("hessenberg", lambda a: jsl.hessenberg(a, calc_q=True), draw(d, *shape))
        case("sqrtm", lambda a: jsl.sqrtm(a) if a.ndim == 2 else jax.vmap(jsl.sqrtm)(a), definite(d, *shape))
    case("sqrtm", jsl.sqrtm, draw(d, 4, 4))
    case("householder_product", K.householder_product, draw(d, 2, 5, 3), draw(d, 2, 3))
    case("householder_product", K.householder_product, draw(d, 4, 4), draw(d, 2))

tensor_file.write(pathlib.Path(__file__).with_name("linalg.safetensors"), dict(sorted(tensors.items())))
