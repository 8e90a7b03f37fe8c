"""The steps of scripts/device_check: what each runs, for how long at most, and how its output is read."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import packing

MODELS = ("cnn", "cnn_bf16", "gpt", "gpt_bf16")
# Suites about what users do, none of which reads files of the project.
SUITES = ("seeds", "nn", "optim", "api")


@dataclasses.dataclass
class Result:
    name: str
    outcome: str  # "ran", "failed", "no time", "left out"
    checked: str = ""  # what was checked, or why not
    seconds: float = 0.0
    values: dict = dataclasses.field(default_factory=dict)


class Failed(Exception):
    """A step could not run; the text goes into the table."""


class Clock:
    """The time that is left for everything."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


def run(command, environment, limit, log=None):
    """(exit code, output) of a program and of all that it starts, which are ended at the limit."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=log or subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failed(f"it took more than {limit:.0f} s") from None
        out.seek(0)
        return process.returncode, out.read().decode(errors="replace")


def last_json(text):
    """The last line of an output that is a JSON object."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except json.JSONDecodeError:
                continue
    raise Failed("it printed no result: " + " ".join(text.split())[-200:])


def counted(text):
    """(passed, failed, names of failed, skipped) of an output of GoogleTest."""
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", text)
    if not passed:
        raise Failed("the tests did not end: " + " ".join(text.split())[-200:])
    # The names are listed once more at the end, without times.
    failed = re.findall(r"^\[  FAILED  \] (\S+?)(?:, where .*)?$", text[text.rindex("[  PASSED  ]"):], re.M)
    return int(passed[1]), len(failed), failed, int(skipped[1]) if skipped else 0


class Steps:
    def __init__(self, options, programs, log):
        self.options, self.programs, self.log = options, programs, log

    # --- what is run
    def environment(self, platform=None, cache=False, **more):
        """Settings that change a measurement are those of the options, and no others."""
        here = {k: v for k, v in self.programs.environment(self.options.libraries).items()
                if not k.startswith(("TESSERA_", "JAX_", "XLA_PYTHON_", "GTEST_"))}
        # Compiled programs are kept within one run of the check only.
        here |= {"TESSERA_CACHE": "on", "TESSERA_CACHE_DIR": str(self.options.out.resolve() / "cache")} if cache else {"TESSERA_CACHE": "off"}
        if platform != "cpu":
            here["TESSERA_PLATFORM"] = self.options.platform
            if self.options.options:
                here["TESSERA_PLATFORM_OPTIONS"] = self.options.options
        return here | more

    def ours(self, words, limit, settings=(), platform=None):
        command = self.programs.command("device_check", *settings, *map(str, words))
        code, text = run(command, self.environment(platform), limit)
        result = last_json(text)
        if code or "error" in result:
            raise Failed(" ".join(str(result.get("error", f"it ended with code {code}")).split())[:300])
        return result

    def jax(self, words, limit, precision="highest"):
        if not self.options.python:
            raise Failed("no Python with JAX")
        here = self.environment("cpu") | {"JAX_PLATFORMS": self.options.jax_platform, "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                                          "JAX_ENABLE_COMPILATION_CACHE": "false"}
        if precision != "default":
            here["JAX_DEFAULT_MATMUL_PRECISION"] = precision
        code, text = run([self.options.python, str(pathlib.Path(__file__).with_name("jax_side.py")), *map(str, words)], here, limit)
        result = last_json(text)
        if code or "error" in result:
            raise Failed("JAX: " + str(result.get("error", f"it ended with code {code}")))
        return result

    def output(self, command, environment, limit):
        # Warnings go to the log, because they come at other places of the output each time.
        code, text = run(command, environment, limit, self.log)
        if self.log:
            self.log.write(f"===== {' '.join(command)}\n{text}\n")
        if code:
            raise Failed(f"it ended with code {code}, and log.txt has its errors: " + " ".join(text.split())[-200:])
        return text

    @staticmethod
    def need(holds, checked):
        if not holds:
            raise Failed(checked)

    # --- the steps. Each returns (what was checked, values), or throws Failed.
    def loads(self, limit):
        found = self.ours(["info"], limit)
        with_loader = ", with the C library that came along" if self.programs.by_loader else ""
        return f"{found['reports']}, {found['devices']} × {found['device']}, {found['version'].splitlines()[0]}{with_loader}", found

    def jax_loads(self, limit):
        found = self.jax(["info"], limit)
        return f"JAX {found['jax']} on {found['devices']} × {found['device']}", found

    def tests(self, name, limit, share=1, only="*", more=None):
        # With `more`, the tests load the plug-in themselves.
        here = self.environment("cpu" if more else None, cache=True, **(more or {}))
        if share > 1:
            here |= {"GTEST_TOTAL_SHARDS": str(share), "GTEST_SHARD_INDEX": "0"}
        _, text = run(self.programs.command(name, "--gtest_brief=0", f"--gtest_filter={only}"), here, limit)
        if self.log:
            self.log.write(f"===== {name}\n{text}\n")
        passed, failed, names, skipped = counted(text)
        checked = f"{passed} of {passed + failed} tests" + (f", one in {share}" if share > 1 else "")
        if failed:
            checked += "; not: " + ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return checked, {"passed": passed, "failed": failed, "skipped": skipped, "names": names}

    def modules(self, limit):
        """The tests of platforms, on this plug-in instead of our own."""
        option = {"TESSERA_TEST_PLUGIN": self.options.platform_path, "TESSERA_TEST_DEVICES_OPTION": self.options.devices_option}
        return self.tests("test_platforms", limit, only="OnPlatform*:Loaded*:*OpsOnPlatform*:*Partitioners*", more=option)

    def backends(self, limit):
        option = {"TESSERA_TEST_PLUGIN": self.options.platform_path, "TESSERA_TEST_DEVICES_OPTION": self.options.devices_option}
        return self.tests("test_backends", limit, only="*/xla*", more=option)

    def suite(self, name, limit):
        return self.tests(f"test_{name}", limit, share=self.options.share)

    def steady(self, name, limit, fastest=False):
        seconds = self.options.seconds
        values = {"tessera": self.ours(["step", name, seconds], limit / 2, ("--precision", "fastest") if fastest else ())}
        try:
            values["jax"] = self.jax(["step", name, seconds], limit / 2, "default" if fastest else "highest")
        except Failed as e:
            values["jax_error"] = str(e)
        good = values["tessera"]["good"]
        checked = f"the loss went from {values['tessera']['first_loss']:.4g} to {values['tessera']['last_loss']:.4g}"
        if not good:
            raise Failed(checked)
        return checked, values

    def calls(self, limit):
        values = {"tessera": self.ours(["calls", self.options.seconds], limit / 2)}
        try:
            values["jax"] = self.jax(["calls", self.options.seconds], limit / 2)
        except Failed as e:
            values["jax_error"] = str(e)
        return "the host's time for a call", values

    def training(self, name, limit):
        steps = self.options.steps
        values = self.ours(["train", name, steps], limit)
        live = values["after"]["live"]
        checked = f"{steps} steps, loss {values['loss_after_10']:.4g} to {values['last_loss']:.4g}, "
        checked += f"{live / 2**20:.1f} MB live after 10 and after all" if live else "the platform counts no memory"
        if not values["good"]:
            raise Failed(f"{checked}; {values['before']['live'] / 2**20:.1f} MB before")
        return checked, values

    def losses(self, name, limit):
        """The losses of the first steps are those of the CPU."""
        there = self.ours(["losses", name, 20], limit / 2)["losses"]
        here = self.ours(["losses", name, 20], limit / 2, platform="cpu")["losses"]
        apart = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(there, here))
        bound = 0.05 if name.endswith("bf16") else 2e-3
        checked = f"20 losses, at most {apart:.1e} of one from the CPU's (bound {bound:g})"
        if not apart <= bound:
            raise Failed(checked)
        return checked, {"apart": apart, "bound": bound, "there": there, "here": here}

    def factors(self, limit):
        n = self.options.matrix
        values = {"loops": self.ours(["factors", n], limit / 2)}
        values["host"] = self.ours(["factors", n], limit / 2, ("--factorisations", "host"))
        worst = max(v["residual"] for v in values["loops"].values() if isinstance(v, dict))
        checked = f"lu, qr, svd, eigh and cholesky of {n} × {n}: residuals of {worst:.2g} eps n at most"
        if not values["loops"]["good"]:
            raise Failed(checked)
        return checked, values

    def sharded(self, limit):
        values = {}
        for form in ("gpt_data/4", "gpt_tensor/4", "gpt_2x2/4"):
            values[form] = {"tessera": self.ours(["sharded", form, self.options.seconds], limit / 6),
                            "platform": self.ours(["sharded", form, self.options.seconds], limit / 6, ("--partitioner", "platform"))}
        return "a GPT step over 4 devices, divided by us and by the platform", values


def planned(options, steps, examples):
    """(name, limit in seconds, function) of all steps, in order: what matters most comes first."""
    plan = [("load", 60, steps.loads), ("load in JAX", 60, steps.jax_loads)]
    for name in MODELS:
        plan.append((f"step {name}", 70, lambda limit, name=name: steps.steady(name, limit)))
    for name in ("cnn", "gpt"):
        plan.append((f"step {name}, fast products", 70, lambda limit, name=name: steps.steady(name, limit, True)))
    plan.append(("calls", 40, steps.calls))
    for name in ("cnn", "gpt"):
        plan.append((f"training {name}", 60, lambda limit, name=name: steps.training(name, limit)))
    for name in MODELS:
        plan.append((f"losses {name}", 60, lambda limit, name=name: steps.losses(name, limit)))
    plan.append(("factorisations", 80, steps.factors))
    plan.append(("tests of platforms", 120, steps.modules))
    plan.append(("tests of backends", 60, steps.backends))
    for name in SUITES:
        plan.append((f"suite {name}", 60, lambda limit, name=name: steps.suite(name, limit)))
    plan.append(("partitioners", 120, steps.sharded))
    for example in examples:
        plan.append((f"example {example.name}", example.limit, lambda limit, example=example: example.check(steps, limit)))
    return plan


def chosen(plan, patterns):
    """The steps that one of the patterns finds, and the first one always: it says which device this is."""
    return plan[:1] + [p for p in plan[1:] if not patterns or any(re.search(pattern, p[0]) for pattern in patterns)]


def perform(plan, clock, scale=1.0, show=print, keep=lambda results: None):
    """The results of all steps. A step that fails or takes too long does not stop the others. `keep` gets what there is after each."""
    results = []
    for name, limit, function in plan:
        limit = min(limit * scale, clock.left())
        if limit < 5:
            results.append(Result(name, "no time", "the time for everything was over"))
            continue
        start = time.monotonic()
        try:
            checked, values = function(limit)
            result = Result(name, "ran", checked, 0, values)
        except (Failed, packing.Missing, subprocess.SubprocessError, OSError, KeyError, ValueError) as e:
            text = str(e) or type(e).__name__
            outcome = "left out" if isinstance(e, packing.Missing) else "failed"
            result = Result(name, outcome, text)
        result.seconds = time.monotonic() - start
        results.append(result)
        keep(results)
        show(f"{result.outcome:8} {result.seconds:6.1f} s  {name}: {result.checked}", flush=True)
    return results
