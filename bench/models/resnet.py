"""ResNet-50 of an image, with batch normalisation by stored statistics; the stride of a block is in its 3 x 3 convolution."""

NAME, TITLE = "resnet50", "ResNet-50, 224 x 224"
FULL = {"side": 224, "stem": 64, "depths": (3, 4, 6, 3), "classes": 1000}
TINY = {"side": 32, "stem": 8, "depths": (1, 1), "classes": 10}


def inputs(batch, side, **_):
    return {"image": ("image", (batch, side, side, 3))}


def normed(nn, name, x, out, window, stride=1, kind="scale"):
    return nn.batch_norm(name + "/norm", nn.conv(name, x, out, window, stride), kind)


def block(nn, name, x, width, stride, first):
    y = nn.relu(normed(nn, name + "/reduce", x, width, 1))
    y = nn.relu(normed(nn, name + "/space", y, width, 3, stride))
    y = normed(nn, name + "/expand", y, 4 * width, 1, kind="small")
    return nn.relu(y + (normed(nn, name + "/shortcut", x, 4 * width, 1, stride) if first else x))


def model(nn, inputs, states, stem, depths, classes, **_):
    x = nn.relu(normed(nn, "stem", inputs["image"], stem, 7, 2))
    x = nn.max_pool(x, 3, 2)
    for i, depth in enumerate(depths):
        for j in range(depth):
            x = block(nn, f"stage{i}/block{j}", x, stem << i, 2 if i and not j else 1, not j)
    return [nn.linear("head", nn.space_mean(x), classes)], {}
