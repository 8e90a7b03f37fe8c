"""The block of transformers that ViT, BERT, GPT-2 and Whisper share."""


def heads(x, count):
    return x.reshape(x.shape[0], x.shape[1], count, x.shape[2] // count)


def attend(nn, name, x, count, mask=None, source=None):
    """Attention of a sequence to itself, or to another one."""
    width = x.shape[-1]
    q = heads(nn.linear(name + "/q", x, width), count)
    k, v = (heads(nn.linear(f"{name}/{n}", x if source is None else source, width), count) for n in "kv")
    return nn.linear(name + "/out", nn.attention(q, k, v, mask), width)


def mlp(nn, name, x, width, exact=True):
    return nn.linear(name + "/out", nn.gelu(nn.linear(name + "/in", x, width), exact), x.shape[-1])


def block(nn, name, x, count, mask=None, source=None):
    """Normalisation before each part; with another sequence, attention to that one as well."""
    x = x + attend(nn, name + "/self", nn.layer_norm(name + "/norm0", x), count, mask)
    if source is not None:
        x = x + attend(nn, name + "/cross", nn.layer_norm(name + "/norm1", x), count, None, source)
    return x + mlp(nn, name + "/mlp", nn.layer_norm(name + "/norm2", x), 4 * x.shape[-1])
