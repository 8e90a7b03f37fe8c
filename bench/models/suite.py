"""The models of the suite, their inputs and how closely the sides have to agree."""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

import bert
import efficientnet
import gpt2
import llama
import lstm
import mixer
import mobilenet
import parameters
import resnet
import unet
import vit
import whisper

BATCHES = (1, 8)


@dataclass(frozen=True)
class Model:
    name: str
    title: str
    code: object
    full: dict
    tiny: dict
    dtype: str = "float32"
    more: dict = field(default_factory=dict)

    def size(self, tiny):
        return {**(self.tiny if tiny else self.full), **self.more.get("tiny" if tiny else "full", {})}

    @property
    def weights(self):
        """The folder whose weights the model reads: models of the same code and type share them."""
        return self.code.NAME if self.dtype == "float32" else f"{self.code.NAME}_{self.dtype}"

    @property
    def tolerance(self):
        """The largest difference of two sides, as a share of the largest absolute value of a result. Sums in another order, other
        approximations of exp, erf and tanh, and reciprocals of square roots differ by a few 2^-24 at each of a hundred layers in a row,
        which add up to less than 2^-12. In bfloat16, each of some 15 results of a layer is rounded to 2^-9. The roundings of 12 layers are
        independent, so together they are some 2^-9 sqrt(180) = 2^-5.2, and two sides, each of which rounds in other places, may be twice
        as far apart as that."""
        return 2.0**-4 if self.dtype == "bfloat16" else 2.0**-12

    def inputs(self, batch, tiny):
        return {n: drawn_input(f"{n}/{batch}", *spec, dtype=self.dtype)
                for n, spec in sorted(self.code.inputs(batch, **self.size(tiny)).items())}

    def states(self, batch, tiny):
        """The names of the inputs that a call takes and returns anew."""
        return sorted(n for n, spec in self.code.inputs(batch, **self.size(tiny)).items() if spec[0] == "state")

    def images(self, batch, tiny):
        return sorted(n for n, spec in self.code.inputs(batch, **self.size(tiny)).items() if spec[0] == "image")


def drawn_input(name, kind, shape, below=0, dtype="float32"):
    random = parameters.generator("input/" + name)
    if kind == "ids":
        return random.integers(0, below, shape).astype(np.int32)
    if kind == "last":  # the last position of a cache, which the rows before it have filled
        return np.full(shape, below - 1, np.int32)
    if kind == "mask":  # the last fifth of every second row is padding
        mask = np.ones(shape, np.int32)
        mask[::2, shape[1] - shape[1] // 5:] = 0
        return mask
    values = random.standard_normal(shape, np.float32)
    return values.astype(ml_dtypes.bfloat16) if kind == "state" and dtype == "bfloat16" else values


def plain(code, **more):
    return Model(more.pop("name", code.NAME), more.pop("title", code.TITLE), code, code.FULL, code.TINY, **more)


MODELS = {m.name: m for m in (
    plain(resnet), plain(mobilenet), plain(efficientnet), plain(unet), plain(vit), plain(mixer), plain(bert),
    plain(gpt2, name="gpt2_prefill", title="GPT-2 small, first 128 tokens",
          more={"full": {"length": 128}, "tiny": {"length": 8}}),
    plain(gpt2, name="gpt2_token", title="GPT-2 small, a token after 255",
          more={"full": {"cache": 256}, "tiny": {"cache": 8}}),
    plain(llama, title="Llama-like, 100 M, float32, a token after 255"),
    plain(llama, name="llama_bfloat16", title="... in bfloat16", dtype="bfloat16"),
    plain(llama, name="llama_int8", title="... with weights of int8", dtype="int8"),
    plain(whisper), plain(lstm))}
