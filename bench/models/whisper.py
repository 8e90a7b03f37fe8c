"""An encoder and decoder of Whisper's form and the size of its smallest: 30 seconds of sound, and tokens that attend to them."""

from transformer import block

NAME, TITLE = "whisper", "Whisper-like, 3,000 frames, 32 tokens"
FULL = {"frames": 3000, "bands": 80, "width": 384, "layers": 4, "heads": 6, "length": 32, "vocabulary": 51865}
TINY = {"frames": 16, "bands": 4, "width": 16, "layers": 1, "heads": 2, "length": 4, "vocabulary": 50}


def inputs(batch, frames, bands, length, vocabulary, **_):
    return {"sound": ("normal", (batch, frames, bands)), "tokens": ("ids", (batch, length), vocabulary)}


def model(nn, inputs, states, frames, width, layers, heads, length, vocabulary, **_):
    x = nn.gelu(nn.conv_line("conv0", inputs["sound"], width))
    x = nn.gelu(nn.conv_line("conv1", x, width, 2)) + nn.table("encoder/positions", frames // 2, width)
    for i in range(layers):
        x = block(nn, f"encoder/layer{i}", x, heads)
    source = nn.layer_norm("encoder/norm", x)
    words = nn.table("words", vocabulary, width)
    x = nn.look_up(words, inputs["tokens"]) + nn.table("decoder/positions", length, width)
    for i in range(layers):
        x = block(nn, f"decoder/layer{i}", x, heads, "causal", source)
    return [nn.product(nn.layer_norm("decoder/norm", x), words, tied=True)], {}
