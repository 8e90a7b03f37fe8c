"""MLP-Mixer B/16 of an image."""

from transformer import mlp

NAME, TITLE = "mixer", "MLP-Mixer B/16, 224 x 224"
FULL = {"side": 224, "patch": 16, "width": 768, "layers": 12, "tokens": 384, "hidden": 3072, "classes": 1000}
TINY = {"side": 16, "patch": 4, "width": 16, "layers": 2, "tokens": 8, "hidden": 24, "classes": 10}


def inputs(batch, side, **_):
    return {"image": ("image", (batch, side, side, 3))}


def model(nn, inputs, states, patch, width, layers, tokens, hidden, classes, **_):
    x = nn.patches("patches", inputs["image"], width, patch)
    for i in range(layers):
        name = f"layer{i:02}"
        y = nn.swap(nn.layer_norm(name + "/norm0", x))
        x = x + nn.swap(mlp(nn, name + "/tokens", y, tokens))
        x = x + mlp(nn, name + "/channels", nn.layer_norm(name + "/norm1", x), hidden)
    return [nn.linear("head", nn.layer_norm("norm", x).mean(1), classes)], {}
