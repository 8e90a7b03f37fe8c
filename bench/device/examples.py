"""The examples as steps of scripts/device_check: what they print on a platform is what they print on the CPU, within bounds."""

import dataclasses
import difflib
import re
import tempfile

import packing

# Lines about times, memory and the machine differ from run to run.
OWN = re.compile("|".join((
    r"^[IWEF]\d{4} |^WARNING: All log messages",  # a plug-in's log
    r"\d ?(?:ms|us|µs|s|MB|KB|GB|KiB|MiB|B|bytes)\b|steps/s|per second|[Tt]ime|[Ss]peed|Best strategy",
    r"memory|temporar|^(?:replicated weights|shards of data|results) +\d",
    r"[Dd]evices?:|Device\(|backend|[┌├└│]",  # names of devices
    r"Drawn|wrote|from: ",
)))
RATE = re.compile(r"\s+[\d.,]+ \w+/s\b.*")  # to the end of the line, where the time that is left follows
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w])")


@dataclasses.dataclass(frozen=True)
class Difference:
    numbers: int  # that were compared
    most: float  # the largest difference, of the larger number or of 1 if both are smaller
    lines: int  # with other words


def compared(there, here):
    """How two outputs differ. The same lines must be there in the same order, but for those of the machine."""
    def kept(text):
        lines = (RATE.sub("", line) for line in re.sub(r"\r", "\n", text).splitlines())
        return [line for line in lines if line.strip() and not OWN.search(line)]

    there, here = kept(there), kept(here)
    # How wide numbers are printed depends on their last digits.
    words = [[re.sub(r"\s*([\[\]])\s*", r"\1", " ".join(NUMBER.sub("#", line).split())) for line in side] for side in (there, here)]
    numbers, most, same = 0, 0.0, 0
    for block in difflib.SequenceMatcher(None, *words, autojunk=False).get_matching_blocks():
        same += block.size
        for a, b in zip(there[block.a:block.a + block.size], here[block.b:block.b + block.size]):
            for x, y in zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b))):
                numbers += 1
                most = max(most, abs(x - y) / max(abs(x), abs(y), 1.0))
    return Difference(numbers, most, max(len(there), len(here)) - same)


@dataclasses.dataclass(frozen=True)
class Example:
    name: str
    program: str
    arguments: tuple = ()
    devices: int = 1
    bound: float = 1e-3
    limit: float = 60

    def arguments_in(self, options, folder):
        return [a.format(data=options.data, out=folder) for a in self.arguments]

    def check(self, steps, limit):
        options = steps.options
        if not options.devices_option and options.device_count < self.devices:
            raise packing.Missing(f"it needs {self.devices} devices, and the platform has {options.device_count}")
        outputs = []
        for platform in (None, "cpu"):
            here = steps.environment(platform, cache=True)
            if platform is None and options.devices_option:
                here["TESSERA_PLATFORM_OPTIONS"] = f"{options.devices_option}={self.devices}"
            with tempfile.TemporaryDirectory() as folder:
                outputs.append(steps.output(steps.programs.command(self.program, *self.arguments_in(options, folder)), here, limit / 2))
        found = compared(*outputs)
        checked = f"{found.numbers} numbers, at most {found.most:.1e} from the CPU's (bound {self.bound:g})"
        if found.lines:
            checked += f", {found.lines} lines with other words"
        steps.need(found.numbers > 0 and found.most <= self.bound and found.lines <= 2, checked)
        return checked, dataclasses.asdict(found)


EXAMPLES = [
    Example("00_pmap_basics", "pmap_basics", devices=4),
    Example("01_single_host_sharding", "single_host_sharding", devices=4),
    Example("02_pmap_intro", "pmap_intro", devices=4),
    Example("03_data_parallel_cnn", "data_parallel_cnn", ("--devices", "4", "--steps", "40", "--data", "{data}", "--out", "{out}"), 4, limit=90),
    Example("03_data_parallel_cnn, one device", "data_parallel_cnn",
            ("--devices", "1", "--steps", "40", "--data", "{data}", "--out", "{out}"), limit=90),
    Example("04_training_techniques", "training_techniques", devices=8, limit=90),
    Example("10_pjit_and_sharding", "pjit_and_sharding", devices=8),
    Example("11_fsdp_transformer", "fsdp_transformer", ("--devices", "4", "--steps", "12", "--compare", "2", "--batch", "8", "--width", "64",
            "--layers", "2", "--characters", "0", "--data", "{data}/psalms.txt", "--out", "{out}"), 4, limit=120),
    Example("11_fsdp_transformer, one device", "fsdp_transformer", ("--devices", "1", "--form", "data", "--steps", "12", "--compare", "0",
            "--batch", "8", "--width", "64", "--layers", "2", "--characters", "0", "--data", "{data}/psalms.txt", "--out", "{out}"), limit=90),
    Example("12_pipeline", "pipeline", devices=8, limit=120),
    Example("20_from_jax", "from_jax", devices=4, limit=90),
]
