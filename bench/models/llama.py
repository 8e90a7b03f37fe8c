"""A decoder of 100 M weights in Llama's form: RMS norms, rotary positions, grouped queries, SwiGLU; one token, with a cache."""

from transformer import heads as divided

NAME, TITLE = "llama", "Llama-like, 100 M"
FULL = {"width": 768, "layers": 12, "heads": 12, "groups": 4, "hidden": 2048, "vocabulary": 32000, "cache": 256}
TINY = {"width": 16, "layers": 2, "heads": 4, "groups": 2, "hidden": 24, "vocabulary": 50, "cache": 8}


def inputs(batch, width, layers, heads, groups, vocabulary, cache, **_):
    caches = {f"{n}{i:02}": ("state", (batch, cache, groups, width // heads)) for i in range(layers) for n in "kv"}
    return {"position": ("last", (1,), cache), "tokens": ("ids", (batch, 1), vocabulary), **caches}


def model(nn, inputs, states, width, layers, heads, groups, hidden, vocabulary, cache, **_):
    words, at, kept = nn.table("words", vocabulary, width), inputs["position"], {}
    mask, narrow = (nn.positions(cache) <= at)[None], width // heads * groups
    x = nn.look_up(words, inputs["tokens"])
    for i in range(layers):
        name = f"layer{i:02}"
        y = nn.rms_norm(name + "/norm0", x)
        q, k, v = (divided(nn.linear(f"{name}/{n}", y, w, bias=False), h)
                   for n, w, h in (("q", width, heads), ("k", narrow, groups), ("v", narrow, groups)))
        k = nn.update(states[f"k{i:02}"], nn.rotate(k, at), at)
        v = nn.update(states[f"v{i:02}"], v, at)
        kept |= {f"k{i:02}": k, f"v{i:02}": v}
        x = x + nn.linear(name + "/out", nn.attention(nn.rotate(q, at), k, v, mask), width, bias=False)
        y = nn.rms_norm(name + "/norm1", x)
        y = nn.silu(nn.linear(name + "/gate", y, hidden, bias=False)) * nn.linear(name + "/up", y, hidden, bias=False)
        x = x + nn.linear(name + "/down", y, width, bias=False)
    return [nn.product(nn.rms_norm("norm", x)[:, -1], words, tied=True)], kept
