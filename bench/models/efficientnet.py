"""EfficientNet-B0: inverted residual blocks with squeeze and excitation."""

from mobilenet import inputs, normed  # noqa: F401

NAME, TITLE = "efficientnet", "EfficientNet-B0, 224 x 224"
# For each stage: expansion, channels, blocks, stride of the first, window.
FULL = {"side": 224, "stem": 32, "classes": 1000, "last": 1280, "stages": (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))}
TINY = {"side": 32, "stem": 8, "classes": 10, "last": 32, "stages": ((1, 8, 1, 1, 3), (4, 16, 2, 2, 5))}


def block(nn, name, x, before, out, expansion, stride, window):
    inner = before * expansion
    y = nn.silu(normed(nn, name + "/expand", x, inner)) if expansion > 1 else x
    y = nn.silu(normed(nn, name + "/depthwise", y, inner, window, stride, inner))
    gate = nn.silu(nn.conv(name + "/squeeze", nn.space_mean(y, keep=True), before // 4, 1, bias=True))
    y = y * nn.sigmoid(nn.conv(name + "/excite", gate, inner, 1, bias=True))
    residual = stride == 1 and before == out
    y = normed(nn, name + "/project", y, out, kind="small" if residual else "scale")
    return x + y if residual else y


def model(nn, inputs, states, stem, stages, last, classes, **_):
    x = nn.silu(normed(nn, "stem", inputs["image"], stem, 3, 2))
    before = stem
    for i, (expansion, out, depth, stride, window) in enumerate(stages):
        for j in range(depth):
            x = block(nn, f"stage{i}/block{j}", x, before, out, expansion, 1 if j else stride, window)
            before = out
    x = nn.silu(normed(nn, "last", x, last))
    return [nn.linear("head", nn.space_mean(x), classes)], {}
