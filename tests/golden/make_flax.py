"""Makes flax.safetensors: layers of flax.linen 0.12.8 (jax 0.10.2) on CPU, with their parameters, results and gradients.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" "flax==0.12.8" && /tmp/jax/bin/python make_flax.py

The inputs of a case are its parameters, in the order in its line, and then x. The outputs are the result and, if the name ends in _grad, the
gradients of sum(sin(result)) in the same order.
"""
import pathlib

import flax
import flax.linen as fl
import jax
import jax.numpy as jnp
import numpy as np

import golden_file

assert jax.__version__ == "0.10.2" and flax.__version__ == "0.12.8", (jax.__version__, flax.__version__)
file = golden_file.File()
rng = np.random.default_rng(9)


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape), "float32")


def join(*xs):
    return jnp.concatenate(xs, -1)


def layer(name, f, *inputs):
    """Stores f of the arrays, and its gradient."""
    file.store(name, inputs, [f(*inputs)])
    grads = jax.grad(lambda *a: jnp.sum(jnp.sin(f(*a))), tuple(range(len(inputs))))(*inputs)
    file.store(name + "_grad", inputs, grads)


def params(**tree):
    return {"params": tree}


x, f = normal(3, 20, 4), 5
wi, wh, b = normal(4, f) * 0.5, normal(f, f) * 0.5, normal(f)
simple = lambda wi, b, wh, x: fl.RNN(fl.SimpleCell(f)).apply(params(cell=dict(i=dict(kernel=wi, bias=b), h=dict(kernel=wh))), x)
layer("simple", simple, wi, b, wh, x)
wi, wh, b, c = normal(4, 3 * f) * 0.5, normal(f, 3 * f) * 0.5, normal(3 * f), normal(f)


def gru_params(wi, b, wh, c):
    i, bi, h = jnp.split(wi, 3, -1), jnp.split(b, 3), jnp.split(wh, 3, -1)
    return dict(ir=dict(kernel=i[0], bias=bi[0]), iz=dict(kernel=i[1], bias=bi[1]), **{"in": dict(kernel=i[2], bias=bi[2])},
                hr=dict(kernel=h[0]), hz=dict(kernel=h[1]), hn=dict(kernel=h[2], bias=c))


layer("gru", lambda wi, b, wh, c, x: fl.RNN(fl.GRUCell(f)).apply(params(cell=gru_params(wi, b, wh, c)), x), wi, b, wh, c, x)
layer("gru_reverse", lambda wi, b, wh, c, x: fl.RNN(fl.GRUCell(f), reverse=True, keep_order=True).apply(params(cell=gru_params(wi, b, wh, c)), x), wi, b, wh, c, x)
wi, wh, b = normal(4, 4 * f) * 0.5, normal(f, 4 * f) * 0.5, normal(4 * f)


def lstm_params(wi, wh, b):
    i, h, bh = jnp.split(wi, 4, -1), jnp.split(wh, 4, -1), jnp.split(b, 4)
    return {**{"i" + n: dict(kernel=k) for n, k in zip("ifgo", i)}, **{"h" + n: dict(kernel=k, bias=v) for n, k, v in zip("ifgo", h, bh)}}


layer("lstm", lambda wi, wh, b, x: fl.RNN(fl.LSTMCell(f)).apply(params(cell=lstm_params(wi, wh, b)), x), wi, wh, b, x)
wi2, wh2, b2 = normal(4, 4 * f) * 0.5, normal(f, 4 * f) * 0.5, normal(4 * f)


def both(a, h, b, a2, h2, b2, x):
    there, back = params(cell=lstm_params(a, h, b)), params(cell=lstm_params(a2, h2, b2))
    return join(fl.RNN(fl.LSTMCell(f)).apply(there, x), fl.RNN(fl.LSTMCell(f), reverse=True, keep_order=True).apply(back, x))


layer("bidirectional", both, wi, wh, b, wi2, wh2, b2, x)

image, s, b = normal(2, 5, 4, 6), normal(6), normal(6)
layer("rms_norm", lambda s, x: fl.RMSNorm().apply(params(scale=s), x), s, image)
layer("group_norm", lambda s, b, x: fl.GroupNorm(3).apply(params(scale=s, bias=b), x), s, b, image)
layer("instance_norm", lambda s, b, x: fl.InstanceNorm().apply(params(scale=s, bias=b), x), s, b, image)
layer("prelu", lambda s, x: fl.PReLU().apply(params(negative_slope=s), x), jnp.float32(0.3), image)
for name, options in {"same": {}, "stride2": dict(strides=(2, 2)), "valid": dict(padding="VALID", strides=(2, 1)), "stride4": dict(strides=(4, 4)),
                      "dilated": dict(kernel_dilation=(2, 2), padding="VALID")}.items():
    layer(f"conv_transpose:{name}:", lambda w, b, x: fl.ConvTranspose(3, (3, 2), **options).apply(params(kernel=w, bias=b), x), normal(3, 2, 6, 3), normal(3), image)
layer("depthwise", lambda w, b, x: fl.Conv(12, (3, 3), feature_group_count=6).apply(params(kernel=w, bias=b), x), normal(3, 3, 1, 12), normal(12), image)
layer("min_pool", lambda x: fl.pooling.min_pool(x, (2, 2), (1, 2)), image)
layer("einsum", lambda w, b, x: fl.Einsum((4, 3, 2), "btf,fhd->bthd").apply(params(kernel=w, bias=b), x), normal(4, 3, 2), normal(3, 2), x)
w, u = normal(4, 3, 7), normal(1, 7)


def spectral(w, x, u):
    kernel = dict(kernel=w, bias=jnp.zeros(7))
    layer = fl.SpectralNorm(fl.DenseGeneral(7, axis=(-2, -1)), n_steps=2)
    stats = {"batch_stats": {"layer_instance/kernel/u": u, "layer_instance/kernel/sigma": jnp.float32(1)}}
    return layer.apply({"params": {"layer_instance": kernel}, **stats}, x, update_stats=True, mutable=["batch_stats"])[0]


layer("spectral_norm", lambda w, x: spectral(w, x, u), w, normal(2, 4, 3))
file.store("spectral_u", [u], [])
layer("weight_norm", lambda w, s, x: fl.WeightNorm(fl.Dense(7)).apply({"params": {"layer_instance": dict(kernel=w, bias=jnp.zeros(7)),
      "layer_instance/kernel/scale": s}}, x), normal(4, 7), normal(7), normal(2, 4))

n, h = 4, 2
q, k, v, o = (normal(4, n * h) * 0.5 for _ in range(3)), None, None, normal(n * h, 4)
q, k, v = q
bq, bk, bv, bo = normal(n * h), normal(n * h), normal(n * h), normal(4)
mask = fl.combine_masks(fl.make_causal_mask(jnp.ones((3, 20))), fl.make_attention_mask(jnp.ones((3, 20)), np.arange(20) < np.array([[20], [11], [5]])))
file.store("masks", [np.asarray(np.arange(20) < np.array([[20], [11], [5]]), "float32")], [mask])


def attention(q, bq, k, bk, v, bv, o, bo, x, m):
    split = lambda w, b: dict(kernel=w.reshape(4, n, h), bias=b.reshape(n, h))
    return fl.MultiHeadDotProductAttention(n, qkv_features=n * h, out_features=4).apply(
        params(query=split(q, bq), key=split(k, bk), value=split(v, bv), out=dict(kernel=o.reshape(n, h, 4), bias=bo)), x, mask=m)


layer("attention", lambda *a: attention(*a, None), q, bq, k, bk, v, bv, o, bo, x)
layer("attention_masked", lambda *a: attention(*a, mask), q, bq, k, bk, v, bv, o, bo, x)
file.write(pathlib.Path(__file__).with_name("flax.safetensors"))
