"""Command lines from a seed: commands and options as ``artifact`` declares them, values that nobody expects."""

from __future__ import annotations

import random

import click

from artifact.cli import commands

#: of any option
HOSTILE = [
    *("", " ", "nan", "inf", "-inf", "-1", "0", "1e308", "1e-320", "-0.0", "1_0", "0x10", "1e3", "9" * 30, "9" * 5000),
    *("１", "٣", "True", "None", "null", "[]", "{}", "'", '"', "`", ";", "|", "$HOME", "%s%n", "\\", "*", "?", "~"),
    *("a\nb", "a\tb", "\x1b[31m", "\u202e", "\ufeff", "\udcff", "é", "漢字", "💥", "\x7f", "a" * 5000, "-", "--", "-x"),
    *("--help", "--version", "=", "--=", "--out=", "..", "../..", "/", ".", "/dev/null", "/dev/zero", "/dev/full"),
    *("/proc/self/mem", "/proc/1/root", "fifo", "loop", "folder", "file", "missing/x", "file/x", "a" * 300),
    *(
        "dirichlet:nan",
        "dirichlet:-1",
        "dirichlet:1e-300",
        "pathological:0",
        "pathological:9999",
        "mlp-0",
        "mlp-" + "9" * 9,
    ),
    *(
        "iid:",
        ":",
        "::",
        "1:2:3",
        "a/b/c",
        "//",
        "qu2022/",
        "/1",
        "all/1",
        "qu2022/1/1",
        "1,2,3",
        ",",
        ",,",
        "1-",
        "1..2",
    ),
]
#: names that lead out of a folder, act on a page, are a formula of a spreadsheet, or are too long for a file's name
NAMES = [
    *("../../../out", "/etc/hostname", "..", ".", "a/b", "a\\b", "~/x", "-rf", ".hidden", "con", "a" * 300, "a b", "é"),
    *("</title><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)", "=1+1", "@SUM(A1)"),
    *("${HOME}", "$(id)", "`id`", "%00", "a\x00b", "a\nb", "\x1b[2J", "\u202eabc", "{{ 7 * 7 }}", "a..b", "a.", ".a"),
]
#: what commands know, by chance where it belongs
KNOWN = [
    *(
        "fedavg",
        "fedsam",
        "fedsmoo",
        "fedlesam-d",
        "scaffold",
        "feddyn",
        "FedSAM+MAN",
        "digits",
        "mnist",
        "officehome@64",
    ),
    *(
        "mlp-8",
        "lenet",
        "cnn-mnist",
        "vit-b-32",
        "iid",
        "dirichlet:0.5",
        "pathological:2",
        "domains",
        "quick",
        "laptop",
    ),
    *(
        "paper",
        "released",
        "FL-Simulator",
        "qu2022",
        "qu2022/1",
        "sun2023",
        "kakoun2024/5.3",
        "qu2022/fig3",
        "all",
        "author2025",
    ),
    *(
        "markdown",
        "csv",
        "latex",
        "json",
        "loop",
        "batched",
        "explicit",
        "cpu",
        "cuda",
        "auto",
        "float32",
        "float64",
        "1",
        "2",
    ),
    *(
        "3",
        "0.1",
        "0.5",
        "{key}",
        "{store}",
        "{store}/{key}",
        "{store}/{key}/checkpoint.safetensors",
        "case.npz",
        "audit",
    ),
    *(
        "fedsign.py",
        "doctor.py",
        "table.csv",
        "page.md",
        "man-prop1",
        "thesis-fig3.1-concl",
        "sun23-tab2",
        "GEN-1",
        "top",
    ),
    *(
        "server",
        "active",
        "all",
        "train",
        "perturbation.norm",
        "local:2",
        "consistency",
        "sgd",
        "uniform",
        "fixed",
        "x.png",
    ),
]
#: options that would write into the checkout, open a window, or are asked to work for minutes
LEFT_OUT = {"--accept", "--write", "--open", "--ray", "--everything", "--measure"}
#: words at the end of a command, so that what is possible is small
ENDS = {
    "run": "--model mlp-8 --clients 4 --cohort 2 --train-size 60 --test-size 20 --rounds 1 --local-epochs 1",
    "table": "--lookup",
    "figure": "--lookup",
    "variants": "--lookup",
    "compare": "--lookup",
    "sweep": "--dry-run",
    "audit run": "--lookup --jobs 0",
    "bench": "--rounds 0",
    "report": "--out file/report",
    "costs": "--nothing",
    "headlines": "--svg file/x",
    "bounds": "--data-size 50",
    "sharpness": "--data-size 50 --parts top --k 2",
    "verdicts": "--out store",
    "fidelity": "--out store",
    "landscape": "--data-size 50 --points 3",
}
#: of options that say how much is computed: small ones, and those that are no number of anything
AMOUNTS = ["1", "2", "3", "0", "-1", "", "nan", "1.5", "9" * 30, "x", "1e3", "٣", " 2", "inf"]
_AMOUNT = (
    "size",
    "clients",
    "cohort",
    "rounds",
    "epochs",
    "steps",
    "every",
    "last",
    "points",
    "samples",
    "jobs",
    "-k",
    "-m",
)


def grammar() -> dict[str, list[click.Parameter]]:
    """Every command by its words, with its parameters."""
    found: dict[str, list[click.Parameter]] = {}

    def walk(command: click.Command, words: list[str], context: click.Context) -> None:
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                walk(child, [*words, name], context)
        else:
            found[" ".join(words)] = command.params

    group = commands([])
    walk(group, [], click.Context(group))
    return found


def draw(seed: int, number: int, known: dict[str, list[click.Parameter]]) -> list[str]:
    """Command line ``number`` of a seed; ``{key}`` and ``{store}`` stand for a run and a store."""
    rng = random.Random(f"lines/{seed}/{number}")
    if rng.random() < 0.03:
        return [rng.choice([*HOSTILE, *known]) for _ in range(rng.randrange(4))]
    name = rng.choice([*known, "run", "run", "run", "sharpness", "table", "sweep"])
    words: list[str] = []
    for parameter in known[name]:
        if isinstance(parameter, click.Argument):
            most = 1 if parameter.nargs == 1 else 3
            words += [_value(parameter, rng) for _ in range(most) if rng.random() < 0.93]
    options = [one for one in known[name] if isinstance(one, click.Option) and not LEFT_OUT & {*one.opts}]
    for option in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 2, 3, 5)))):
        flag, value = option.opts[0], _value(option, rng)
        words += [flag] if option.is_flag else rng.choice([[flag, value], [f"{flag}={value}"], [flag, value], [flag]])
    if rng.random() < 0.1:
        words.insert(rng.randrange(len(words) + 1), rng.choice(HOSTILE))
    given = {word.partition("=")[0] for word in words}
    if name == "figure":  # all of them, or a paper's, are drawn for minutes
        words = ["qu2022/fig3" if word in ("all", "qu2022", "sun2023") else word for word in words]
    end = ENDS.get(name, "").split()
    flags = [end.pop(0)] if end[:1] in (["--lookup"], ["--dry-run"]) else []  # before an option that lacks its value
    pairs = [end[i : i + 2] for i in range(0, len(end), 2)]
    last = [word for pair in pairs if pair[0] not in given or name != "run" for word in pair]
    return [*name.split(), *flags, *words, *last]


def _value(parameter: click.Parameter, rng: random.Random) -> str:
    if isinstance(parameter.type, click.Choice) and rng.random() < 0.7:
        return str(rng.choice(list(parameter.type.choices)))
    if parameter.opts[0].endswith(_AMOUNT) and rng.random() < 0.97:
        return rng.choice(AMOUNTS)
    word = rng.choice(HOSTILE + NAMES if rng.random() < 0.5 else KNOWN)
    if rng.random() < 0.1 and word:
        at = rng.randrange(len(word))
        word = word[:at] + rng.choice("aé/:,=-9 ") + word[at + 1 :]
    return word
