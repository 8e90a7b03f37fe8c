"""Two layers of an LSTM over a sequence of vectors, and a class of the last state."""

NAME, TITLE = "lstm", "LSTM, 2 x 512, 100 steps"
FULL = {"length": 100, "features": 128, "width": 512, "layers": 2, "classes": 100}
TINY = {"length": 5, "features": 6, "width": 8, "layers": 2, "classes": 4}


def inputs(batch, length, features, **_):
    return {"sequence": ("normal", (batch, length, features))}


def model(nn, inputs, states, width, layers, classes, **_):
    x = inputs["sequence"]
    for i in range(layers):
        x = nn.lstm(f"layer{i}", x, width)
    return [nn.linear("head", x[:, -1], classes)], {}
