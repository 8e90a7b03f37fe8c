"""ViT-B/16 of an image."""

from transformer import block

NAME, TITLE = "vit", "ViT-B/16, 224 x 224"
FULL = {"side": 224, "patch": 16, "width": 768, "layers": 12, "heads": 12, "classes": 1000}
TINY = {"side": 16, "patch": 4, "width": 16, "layers": 2, "heads": 2, "classes": 10}


def inputs(batch, side, **_):
    return {"image": ("image", (batch, side, side, 3))}


def model(nn, inputs, states, side, patch, width, layers, heads, classes, **_):
    x = nn.patches("patches", inputs["image"], width, patch)
    x = nn.joined(nn.repeat(nn.table("class", 1, width), x.shape[0]), x)
    x = x + nn.table("positions", (side // patch) ** 2 + 1, width)
    for i in range(layers):
        x = block(nn, f"layer{i:02}", x, heads)
    return [nn.linear("head", nn.layer_norm("norm", x)[:, 0], classes)], {}
