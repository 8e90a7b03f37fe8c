"""GPT-2 small: one token of each sequence, with a cache of the ones before it, or the first tokens, which fill a cache."""

from transformer import heads as divided
from transformer import mlp

NAME, TITLE = "gpt2", "GPT-2 small"
FULL = {"width": 768, "layers": 12, "heads": 12, "vocabulary": 50257, "positions": 1024}
TINY = {"width": 16, "layers": 2, "heads": 2, "vocabulary": 50, "positions": 16}


def inputs(batch, width, layers, heads, vocabulary, cache=0, length=1, **_):
    result = {"tokens": ("ids", (batch, length), vocabulary)}
    if cache:
        result["position"] = ("last", (1,), cache)
        result |= {f"{n}{i:02}": ("state", (batch, cache, heads, width // heads)) for i in range(layers) for n in "kv"}
    return result


def model(nn, inputs, states, width, layers, heads, vocabulary, positions, cache=0, **_):
    tokens, kept = inputs["tokens"], {}
    words, places = nn.table("words", vocabulary, width), nn.table("positions", positions, width)
    at = inputs["position"] if cache else nn.positions(tokens.shape[1])
    mask = (nn.positions(cache) <= at)[None] if cache else "causal"
    x = nn.look_up(words, tokens) + nn.look_up(places, at)
    for i in range(layers):
        name = f"layer{i:02}"
        y = nn.linear(name + "/qkv", nn.layer_norm(name + "/norm0", x), 3 * width)
        q, k, v = (divided(y[..., n * width:(n + 1) * width], heads) for n in range(3))
        if cache:
            k, v = (nn.update(states[f"{n}{i:02}"], row, at) for n, row in (("k", k), ("v", v)))
        kept |= {f"k{i:02}": k, f"v{i:02}": v}
        x = x + nn.linear(name + "/out", nn.attention(q, k, v, mask), width)
        x = x + mlp(nn, name + "/mlp", nn.layer_norm(name + "/norm1", x), 4 * width, exact=False)
    return [nn.product(nn.layer_norm("norm", x)[:, -1], words, tied=True)], kept
