"""Makes the measurements of scripts/device_check for JAX, one in each process, as bench/device_check.cc does for this library.

    python jax_side.py info
    python jax_side.py step NAME SECONDS
    python jax_side.py calls SECONDS
"""

import json
import math
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "compare")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax_training as training  # noqa: E402

IN_FLIGHT = 16
MODELS = {
    "cnn": (training.cnn_loss, training.cnn_params, training.images, 128),
    "cnn_bf16": (lambda p, x, y: training.cnn_loss(p, x, y, jnp.bfloat16), training.cnn_params, training.images, 128),
    "gpt": (training.gpt_loss, training.gpt_params, training.text, 8),
    "gpt_bf16": (training.gpt_bf16_loss, training.gpt_params, training.text, 8),
}


def bursts(call, wait, seconds):
    """Microseconds a call: until the results are there, and until the call returns, of calls that are not waited for one by one."""
    start = time.perf_counter()
    call()
    wait()
    burst = max(1, min(IN_FLIGHT, int(seconds / (2 * (time.perf_counter() - start)))))
    whole, issued = [], []
    begin = time.perf_counter()
    while not whole or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(burst):
            call()
        issued.append((time.perf_counter() - start) * 1e6 / burst)
        wait()
        whole.append((time.perf_counter() - start) * 1e6 / burst)
    return statistics.median(whole), statistics.median(issued), len(whole) * burst


def step(name, seconds):
    loss, params, data, batch = MODELS[name]
    p = params()
    box = list(jax.block_until_ready((p, training.adam_init(p))))
    x, y = data((batch,))
    value = [None]
    function = jax.jit(training.step_of(loss), donate_argnums=(0, 1))

    def call():
        box[0], box[1], value[0] = function(box[0], box[1], x, y)

    def read():
        return float(value[0])

    start = time.perf_counter()
    call()
    first_loss = read()
    first = (time.perf_counter() - start) * 1e6
    call()
    read()
    times = []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < seconds / 2:
        start = time.perf_counter()
        call()
        read()
        times.append((time.perf_counter() - start) * 1e6)
    queued, host, calls = bursts(call, read, seconds / 2)
    last_loss = read()
    return {"first_us": first, "steady_us": statistics.median(times), "queued_us": queued, "host_us": host, "calls": len(times) + calls,
            "first_loss": first_loss, "last_loss": last_loss, "good": math.isfinite(last_loss)}


def calls(seconds):
    out = {}

    def measure(name, f, start):
        box = [start]

        def call():
            box[0] = f(box[0])

        def wait():
            jax.block_until_ready(box[0])

        call()
        wait()
        queued, host, _ = bursts(call, wait, seconds / 2)
        out.update({f"{name}_host_us": host, f"{name}_queued_us": queued})

    measure("scalar", jax.jit(lambda x: x + 1), jnp.zeros(()))
    measure("tree_100", jax.jit(lambda t: [x + 1 for x in t]), [jnp.zeros(()) for _ in range(100)])
    measure("eager", lambda x: x + 1, jnp.zeros(()))
    return out


def info():
    device = jax.devices()[0]
    return {"jax": jax.__version__, "platform": device.platform, "device": device.device_kind, "devices": len(jax.devices()),
            "version": device.client.platform_version}


def main(words):
    if words[0] == "info":
        return info()
    if words[0] == "step":
        return step(words[1], float(words[2]))
    return calls(float(words[1]))


if __name__ == "__main__":
    try:
        print(json.dumps(main(sys.argv[1:])), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}), flush=True)
        sys.exit(1)
