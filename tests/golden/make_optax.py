"""Makes optax.safetensors: 20 steps of each optimiser of Optax 0.2.8 (jax 0.10.2) on a matrix, a vector and a kernel.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" "optax==0.2.8" && /tmp/jax/bin/python make_optax.py

The gradients of all steps are given; parameters are stored after steps 1, 7 and 20. Schedules are stored at steps 0 to 40. Some values that
Optax computes in float32 even for float64 parameters (schedules of integer counts, accumulators, the decay of Adafactor) are computed in
float64 here.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import factorized

import golden_file

assert jax.__version__ == "0.10.2" and optax.__version__ == "0.2.8", (jax.__version__, optax.__version__)
jax.config.update("jax_enable_x64", True)
file = golden_file.File()
rng = np.random.default_rng(3)
params = {"a": rng.normal(size=(4, 3)), "b": rng.normal(size=3), "c": rng.normal(size=(2, 3, 2))}
grads = {k: rng.normal(size=(20, *v.shape)) + 0.3 for k, v in params.items()}
file.store("start", params.values(), [])
file.store("gradients", grads.values(), [])


def run(name, opt, params=params, grads=grads, wrap=None, dtype="float32"):
    p = {k: jnp.asarray(v, dtype) for k, v in params.items()}
    if wrap:
        p = wrap(p)
    state, kept = opt.init(p), []

    @jax.jit
    def step(g, state, p):
        u, state = opt.update(g, state, p)
        return optax.apply_updates(p, u), state

    for t in range(20):
        p, state = step({k: jnp.asarray(v[t], dtype) for k, v in grads.items()}, state, p)
        if t in (0, 6, 19):
            kept += [jnp.ravel(x) for x in jax.tree.leaves(p)]
    file.store(f"{name}:{dtype}", [], [jnp.concatenate(kept)])


class Wide:
    """jax.numpy with float64 in place of float32."""

    float32 = jnp.float64

    def __getattr__(self, name):
        return getattr(jnp, name)


def schedule_in(dtype, schedule):
    return (lambda count: schedule(jnp.asarray(count, dtype))) if dtype == "float64" else schedule


def all_in(dtype):
    line = schedule_in(dtype, optax.linear_schedule(0.1, 0.0, 20))
    return {
        "adabelief": optax.adabelief(0.05), "adadelta": optax.adadelta(0.5, weight_decay=0.01), "adagrad": optax.adagrad(0.1),
        "adafactor": optax.adafactor(0.1, min_dim_size_to_factor=2), "adafactor_momentum": optax.adafactor(min_dim_size_to_factor=3, momentum=0.9, weight_decay_rate=0.01, dtype_momentum=dtype),
        "adafactor_plain": optax.adafactor(0.1, factored=False, clipping_threshold=None, multiply_by_parameter_scale=False),
        "adamax": optax.adamax(0.05), "amsgrad": optax.amsgrad(0.05), "lamb": optax.lamb(0.05, weight_decay=0.1), "lars": optax.lars(0.5, weight_decay=0.1),
        "lars_nesterov": optax.lars(0.5, nesterov=True), "lion": optax.lion(0.01), "nadam": optax.nadam(0.05), "nadamw": optax.nadamw(0.05, weight_decay=0.1),
        "adamw_masked": optax.adamw(0.05, weight_decay=0.1, mask={"a": True, "b": False, "c": True}),
        "adamw_masked_by_shape": optax.adamw(0.05, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)),
        "lion_masked": optax.lion(0.01, weight_decay=0.1, mask={"a": False, "b": True, "c": False}),
        "lamb_masked": optax.lamb(0.05, weight_decay=0.1, mask={"a": False, "b": True, "c": True}),
        "novograd": optax.novograd(0.05, weight_decay=0.1), "radam": optax.radam(0.05), "sm3": optax.sm3(0.1),
        "adam_eps_root": optax.adam(0.05, eps_root=1e-3),
        "centralize": optax.chain(optax.centralize(), optax.sgd(0.1)), "adaptive_grad_clip": optax.chain(optax.adaptive_grad_clip(0.1), optax.sgd(0.1)),
        "keep_params_nonnegative": optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()), "trace": optax.chain(optax.trace(0.8, nesterov=True), optax.scale(-0.1)),
        "ema": optax.chain(optax.ema(0.8), optax.scale(-0.1)), "ema_biased": optax.chain(optax.ema(0.8, debias=False), optax.scale(-0.1)),
        "add_noise": optax.chain(optax.add_noise(0.01, 0.55, jax.random.key(4)), optax.sgd(0.1)),
        "masked": optax.masked(optax.adam(0.05), {"a": True, "b": False, "c": True}),
        "multi_transform": optax.multi_transform({"fast": optax.adam(0.05), "slow": optax.sgd(0.1)}, {"a": "fast", "b": "slow", "c": "fast"}),
        "MultiSteps": optax.MultiSteps(optax.adam(0.05), 3, accumulator_dtype=dtype).gradient_transformation(),
        "MultiSteps_sum": optax.MultiSteps(optax.sgd(0.05), 4, use_grad_mean=False, accumulator_dtype=dtype).gradient_transformation(),
        "inject_hyperparams": optax.inject_hyperparams(optax.adam)(learning_rate=line),
        "scale_by_schedule": optax.chain(optax.scale_by_schedule(line), optax.scale(-1.0)),
    }


for dtype in ("float32", "float64"):
    factorized.jnp = jnp if dtype == "float32" else Wide()
    for name, opt in all_in(dtype).items():
        run(name, opt, dtype=dtype)
spoilt = {k: np.array(v) for k, v in grads.items()}
for t in (3, 8, 9, 10):
    spoilt["b"][t, 1] = np.inf if t == 3 else np.nan
run("apply_if_finite", optax.apply_if_finite(optax.adam(0.05), 5), grads=spoilt)
for reset in (False, True):
    run(f"lookahead{'_reset' if reset else ''}", optax.lookahead(optax.adam(0.05), 4, 0.5, reset_state=reset), wrap=optax.LookaheadParams.init_synced)

cycles = [dict(init_value=0.0, peak_value=0.1, warmup_steps=3, decay_steps=10, end_value=0.01), dict(init_value=0.01, peak_value=0.05, warmup_steps=2, decay_steps=15)]
SCHEDULES = {
    "join_schedules": optax.join_schedules([optax.constant_schedule(0.1), optax.linear_schedule(0.2, 0.0, 10), optax.constant_schedule(0.05)], [7, 20]),
    "piecewise_constant_schedule": optax.piecewise_constant_schedule(0.1, {5: 0.5, 20: 0.1}), "polynomial_schedule": optax.polynomial_schedule(0.1, 0.01, 2.0, 20, 5),
    "sgdr_schedule": optax.sgdr_schedule(cycles), "warmup_constant_schedule": optax.warmup_constant_schedule(0.01, 0.1, 10),
    "warmup_exponential_decay_schedule": optax.warmup_exponential_decay_schedule(0.0, 0.1, 5, 10, 0.5),
    "cosine_onecycle_schedule": optax.cosine_onecycle_schedule(30, 0.1), "linear_onecycle_schedule": optax.linear_onecycle_schedule(30, 0.1),
    "warmup_cosine_decay_schedule": optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 30, 0.01), "cosine_decay_schedule": optax.cosine_decay_schedule(0.1, 25, 0.1),
    "constant_schedule": optax.constant_schedule(0.3),
}
for name, schedule in SCHEDULES.items():
    file.store(name, [], [np.array([schedule(jnp.asarray(t, "float64")) for t in range(41)], "float64")])
file.write(pathlib.Path(__file__).with_name("optax.safetensors"))
