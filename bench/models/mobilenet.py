"""MobileNet v2: inverted residual blocks of depthwise convolutions."""

NAME, TITLE = "mobilenet", "MobileNet v2, 224 x 224"
# For each stage: expansion, channels, blocks, stride of the first.
FULL = {"side": 224, "stem": 32, "classes": 1000, "last": 1280, "stages": (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))}
TINY = {"side": 32, "stem": 8, "classes": 10, "last": 32, "stages": ((1, 8, 1, 1), (3, 16, 2, 2))}


def inputs(batch, side, **_):
    return {"image": ("image", (batch, side, side, 3))}


def normed(nn, name, x, out, window=1, stride=1, groups=1, kind="scale"):
    return nn.batch_norm(name + "/norm", nn.conv(name, x, out, window, stride, groups), kind)


def block(nn, name, x, before, out, expansion, stride):
    inner = before * expansion
    y = nn.relu6(normed(nn, name + "/expand", x, inner)) if expansion > 1 else x
    y = nn.relu6(normed(nn, name + "/depthwise", y, inner, 3, stride, inner))
    residual = stride == 1 and before == out
    y = normed(nn, name + "/project", y, out, kind="small" if residual else "scale")
    return x + y if residual else y


def model(nn, inputs, states, stem, stages, last, classes, **_):
    x = nn.relu6(normed(nn, "stem", inputs["image"], stem, 3, 2))
    before = stem
    for i, (expansion, out, depth, stride) in enumerate(stages):
        for j in range(depth):
            x = block(nn, f"stage{i}/block{j}", x, before, out, expansion, 1 if j else stride)
            before = out
    x = nn.relu6(normed(nn, "last", x, last))
    return [nn.linear("head", nn.space_mean(x), classes)], {}
