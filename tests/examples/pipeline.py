"""Makes pipeline.safetensors: the training of examples/12_pipeline in jax 0.10.2, on one device.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install "jax==0.10.2" && /tmp/jax/bin/python pipeline.py
"""
import jax
import jax.numpy as jnp
from safetensors import save

assert jax.__version__ == "0.10.2", jax.__version__
BLOCKS, WIDTH, HIDDEN, ROWS, STEPS, RATE = 8, 16, 32, 64, 8, 0.3


def init(key):
    up, down = jax.random.split(key)
    return {
        "up": jax.random.normal(up, (WIDTH, HIDDEN)) * 0.2,
        "bias": jnp.zeros(HIDDEN),
        "down": jax.random.normal(down, (HIDDEN, WIDTH)) * 0.1,
    }


def network(blocks, x):
    block = lambda h, p: (h + jax.nn.gelu(h @ p["up"] + p["bias"]) @ p["down"], None)
    return jax.lax.scan(block, x, blocks)[0]


blocks = jax.vmap(init)(jax.random.split(jax.random.PRNGKey(0), BLOCKS))
x_key, layer_key = jax.random.split(jax.random.PRNGKey(1))
x = jax.random.normal(x_key, (ROWS, WIDTH))
target = jnp.tanh(x @ (jax.random.normal(layer_key, (WIDTH, WIDTH)) / 4))
step = jax.jit(jax.value_and_grad(lambda p: jnp.mean(jnp.square(network(p, x) - target))))

out = {"initial": network(blocks, x)[:4], "target": target[:4]}
losses = []
for i in range(STEPS):
    loss, gradients = step(blocks)
    if i == 0:
        out |= {f"gradients/{name}": g[:, ..., :2] if g.ndim == 2 else g[:, :2, :2] for name, g in gradients.items()}
    blocks = jax.tree.map(lambda p, g: p - RATE * g, blocks, gradients)
    losses.append(loss)
out["losses"] = jnp.stack(losses)
out["final"] = network(blocks, x)[:4]
save(__file__, out)
