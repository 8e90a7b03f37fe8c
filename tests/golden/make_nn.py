"""Makes nn.safetensors: activations, initialisers and attention of jax.nn (jax 0.10.2) and losses of Optax 0.2.8, on CPU.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" "optax==0.2.8" && /tmp/jax/bin/python make_nn.py
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax

import golden_file

assert jax.__version__ == "0.10.2" and optax.__version__ == "0.2.8", (jax.__version__, optax.__version__)
file = golden_file.File()
rng = np.random.default_rng(5)


def normal(*shape, scale=2.0, dtype="float32"):
    return jnp.asarray(rng.normal(size=shape) * scale, dtype)


EDGES = np.array([0, -0.0, 1, -1, 3, -3, 6, 7, 40, -40, 1e-6, -1e-6, 2.5, 0.5], "float32")
NAMES = ("celu", "selu", "relu6", "hard_tanh", "hard_sigmoid", "hard_silu", "mish", "soft_sign", "sparse_plus",
         "sparse_sigmoid", "squareplus", "swish")
for name in NAMES:
    f = getattr(jax.nn, name)
    file.case(f"{name}:", f, EDGES)
    file.case(f"{name}:", f, normal(3, 7))
    file.case(f"{name}:", f, normal(11, dtype="bfloat16"))
    file.case(f"{name}:", f, normal(11, dtype="float16"))
    file.case(f"grad_{name}:", jax.grad(lambda x: jnp.sum(f(x) * jnp.arange(9.0))), normal(9))
    with jax.enable_x64(True):
        file.case(f"{name}:", f, normal(9, dtype="float64"))
file.case("celu:0.5", lambda x: jax.nn.celu(x, 0.5), normal(9))
file.case("squareplus:1", lambda x: jax.nn.squareplus(x, 1.0), normal(9))
for name in ("celu", "selu", "mish", "soft_sign", "squareplus", "hard_silu"):
    file.case(f"{name}:", lambda x: getattr(jax.nn, name)(x.astype("float32")), np.arange(-4, 5, dtype="int32"))
file.case("glu:-1", jax.nn.glu, normal(3, 6))
file.case("glu:0", lambda x: jax.nn.glu(x, 0), normal(4, 3))
file.case("standardize:-1", jax.nn.standardize, normal(4, 9))
file.case("standardize:0", lambda x: jax.nn.standardize(x, axis=0, epsilon=1e-3), normal(4, 9))
file.case("standardize:all", lambda x: jax.nn.standardize(x, axis=None), normal(4, 9))
file.case("standardize:where", lambda x, w: jax.nn.standardize(x, where=w), normal(4, 9), rng.integers(0, 2, (4, 9)).astype(bool) | (np.arange(9) < 2))
file.case("standardize:given", lambda x, m, v: jax.nn.standardize(x, mean=m, variance=v), normal(4, 9), normal(4, 1), abs(normal(4, 1)))

x, y = normal(5, 4), normal(5, 4)
for name in ("squared_error", "l2_loss", "log_cosh"):
    file.case(f"{name}:", getattr(optax, name), x, y)
    file.case(f"grad_{name}:", jax.grad(lambda a, b: jnp.sum(getattr(optax, name)(a, b)), (0, 1)), x, y)
file.case("log_cosh:", optax.log_cosh, np.float32([100, -100, 0]), np.float32([0, 0, 0]))
file.case("hinge_loss:", optax.hinge_loss, x, jnp.sign(y))
file.case("cosine_similarity:", optax.cosine_similarity, x, y)
file.case("cosine_similarity:1", lambda a, b: optax.cosine_similarity(a, b, epsilon=1.0), x * 0.1, y)
file.case("cosine_distance:", optax.cosine_distance, x, y)
file.case("grad_cosine_similarity:", jax.grad(lambda a, b: jnp.sum(optax.cosine_similarity(a, b)), (0, 1)), x, y)
p = jax.nn.softmax(y)
file.case("kl_divergence:", optax.kl_divergence, jax.nn.log_softmax(x), p.at[0, 0].set(0))
labels = jnp.asarray(rng.integers(0, 2, (5, 4)), "float32")
file.case("sigmoid_focal_loss:", optax.sigmoid_focal_loss, x, labels)
file.case("sigmoid_focal_loss:0.25,3", lambda a, b: optax.sigmoid_focal_loss(a, b, alpha=0.25, gamma=3.0), x, labels)
file.case("smooth_labels:0.1", lambda a: optax.smooth_labels(a, 0.1), jax.nn.one_hot(jnp.arange(5) % 4, 4))
logits = normal(3, 12, 6)
sequences = np.array([[1, 2, 2, 5, 0], [3, 3, 3, 0, 0], [4, 1, 5, 2, 1]], "int32")
ends = (np.arange(5) >= np.array([[4], [3], [5]])).astype("float32")
frames = (np.arange(12) >= np.array([[12], [9], [11]])).astype("float32")
file.case("ctc_loss:", optax.ctc_loss, logits, frames, sequences, ends)
file.case("ctc_loss:5", lambda *a: optax.ctc_loss(*a, blank_id=5), logits, frames, np.where(sequences == 5, 0, sequences), ends)
file.case("grad_ctc_loss:", lambda *a: jax.grad(lambda l: jnp.sum(optax.ctc_loss(l, *a[1:])))(a[0]), logits, frames, sequences, ends)

I = jax.nn.initializers
for name, init in {"constant": I.constant(0.3), "normal": I.normal(0.5), "uniform": I.uniform(2.0), "truncated_normal": I.truncated_normal(0.5, lower=-1, upper=2),
                   "kaiming_normal": I.kaiming_normal(), "kaiming_uniform": I.kaiming_uniform(), "xavier_normal": I.xavier_normal(), "xavier_uniform": I.xavier_uniform(),
                   "lecun_uniform": I.lecun_uniform(), "variance_scaling": I.variance_scaling(3.0, "fan_out", "uniform"),
                   "variance_scaling_avg": I.variance_scaling(3.0, "fan_avg", "normal"), "zeros": I.zeros, "ones": I.ones}.items():
    file.case(f"initializer:{name}", lambda k: init(k, (3, 4, 5)), np.asarray(jax.random.PRNGKey(17)))
    with jax.enable_x64(True):
        file.case(f"initializer:{name},f64", lambda k: init(k, (3, 4), "float64"), np.asarray(jax.random.PRNGKey(17)))

attention = jax.nn.dot_product_attention
q, k, v = normal(2, 6, 4, 8, scale=1), normal(2, 7, 2, 8, scale=1), normal(2, 7, 2, 8, scale=1)
mask = jnp.asarray(rng.integers(0, 2, (2, 1, 6, 7)), bool).at[..., 0].set(True)
bias = normal(1, 4, 6, 7)
file.case("attention:", attention, q, k, v)
file.case("attention:three", attention, q[0], k[0], v[0])
file.case("attention:mask", lambda q, k, v, m: attention(q, k, v, mask=m), q, k, v, mask)
file.case("attention:bias", lambda q, k, v, b: attention(q, k, v, b), q, k, v, bias)
file.case("attention:causal", lambda q, k, v: attention(q, k, v, is_causal=True), q, k, v)
file.case("attention:scale", lambda q, k, v: attention(q, k, v, scale=0.1), q, k, v)
file.case("attention:window", lambda q, k, v: attention(q, k, v, local_window_size=(2, 1)), q, k, v)
file.case("attention:lengths", lambda q, k, v, a, b: attention(q, k, v, query_seq_lengths=a, key_value_seq_lengths=b), q, k, v,
          np.int32([6, 4]), np.int32([3, 7]))
file.case("attention:causal", lambda q, k, v: attention(q, k, v, is_causal=True), *(t.astype("bfloat16") for t in (q, k, v)))
file.case("grad_attention:", jax.grad(lambda q, k, v: jnp.sum(jnp.sin(attention(q, k, v, is_causal=True))), (0, 1, 2)), q, k, v)
file.write(pathlib.Path(__file__).with_name("nn.safetensors"))
