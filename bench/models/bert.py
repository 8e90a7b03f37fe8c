"""BERT-base: hidden states of padded sentences."""

from transformer import attend, mlp

NAME, TITLE = "bert", "BERT-base, 128 tokens"
FULL = {"length": 128, "width": 768, "layers": 12, "heads": 12, "vocabulary": 30522}
TINY = {"length": 12, "width": 16, "layers": 2, "heads": 2, "vocabulary": 50}


def inputs(batch, length, vocabulary, **_):
    return {"mask": ("mask", (batch, length)), "tokens": ("ids", (batch, length), vocabulary), "types": ("ids", (batch, length), 2)}


def model(nn, inputs, states, length, width, layers, heads, vocabulary, **_):
    mask = inputs["mask"][:, None, None, :] != 0
    x = nn.look_up(nn.table("words", vocabulary, width), inputs["tokens"]) + nn.table("positions", length, width)
    x = nn.layer_norm("norm", x + nn.look_up(nn.table("types", 2, width), inputs["types"]))
    for i in range(layers):
        x = nn.layer_norm(f"layer{i:02}/norm0", x + attend(nn, f"layer{i:02}/self", x, heads, mask))
        x = nn.layer_norm(f"layer{i:02}/norm1", x + mlp(nn, f"layer{i:02}/mlp", x, 4 * width))
    return [x, nn.tanh(nn.linear("pool", x[:, 0], width))], {}
