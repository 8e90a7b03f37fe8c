"""A U-Net that labels every pixel of an image."""

NAME, TITLE = "unet", "U-Net, 256 x 256"
FULL = {"side": 256, "width": 32, "levels": 4, "classes": 2}
TINY = {"side": 16, "width": 4, "levels": 2, "classes": 2}


def inputs(batch, side, **_):
    return {"image": ("image", (batch, side, side, 3))}


def twice(nn, name, x, out):
    for i in range(2):
        x = nn.relu(nn.batch_norm(f"{name}/norm{i}", nn.conv(f"{name}/conv{i}", x, out)))
    return x


def model(nn, inputs, states, width, levels, classes, **_):
    x, beside = inputs["image"], []
    for i in range(levels):
        x = twice(nn, f"down{i}", x, width << i)
        beside.append(x)
        x = nn.max_pool(x, 2, 2)
    x = twice(nn, "middle", x, width << levels)
    for i in reversed(range(levels)):
        x = nn.channels(beside[i], nn.enlarge(f"up{i}/enlarge", x, width << i))
        x = twice(nn, f"up{i}", x, width << i)
    return [nn.shown(nn.conv("head", x, classes, 1, bias=True))], {}
