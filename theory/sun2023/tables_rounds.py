"""Arithmetic audit of the tables of rounds and times (Tables 6, 7), of the ablation (Table 8) and of the abstract."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from theory.kit.tables import Comparison, Table, arithmetic_verdict, average, compare, difference, ratio, table
from theory.kit.verdict import Verdict, check
from theory.sun2023.figures import bars, cells_of, numbers, printed_and_derived
from theory.sun2023.tables import COLUMNS, METHODS, accuracy, column, counted, rounds_to_74


def _table6() -> dict[tuple[str, str, str, str], dict[str, int | None]]:
    """Column (participation, data set, split, metric) -> method -> rounds or None."""
    rows = table("fedsmoo_table6")
    columns: dict[tuple[str, str, str, str], dict[str, int | None]] = {}
    for row in rows:
        key = (row["participation"], row["dataset"], row["split"], row["metric"])
        columns.setdefault(key, {})[row["algorithm"]] = int(row.value) if row.is_number else None
    return columns


def _target(key: tuple) -> int:
    return int(key[3].rsplit("_", 1)[1])


def _higher(key: tuple) -> bool:
    """True for the higher target of the pair of a split."""
    return _target(key) == max(_target(other) for other in _table6() if other[:3] == key[:3])


def _rank(entries: dict[str, int | None], name: str) -> int:
    return 1 + sum(value is not None and value < entries[name] for value in entries.values())


@check("sun23-tab6", figure=bars(numbers("mean_rank"), "mean rank in rounds over 16 columns"))
def rounds_to_targets() -> Verdict:
    """Ranks in Table 6.

    Statement: FedSMOO is on average among the fastest and, for the higher target of each pair, faster than all
        others.
    Assumptions: Table 6 as transcribed; "-" is slower than any number. Arithmetic side only.
    Method: rank of FedSMOO per column.
    Verdict: inconsistent in one of eight higher targets: CIFAR-100 Dirichlet-0.1, 5%: 534 rounds against 432
        (MoFedSAM) and 437 (FedCM). Its mean rank over all columns is the best of the eight methods.
    Reference: Sun et al. 2023, Table 6; App. B.6.
    """
    columns = _table6()
    claims = {", ".join(key): _rank(entries, "FedSMOO") == 1 for key, entries in columns.items() if _higher(key)}
    ranks = {
        name: float(
            sum(_rank(e, name) if e[name] is not None else len(METHODS) for e in columns.values()) / len(columns)
        )
        for name in METHODS
    }
    claims["best mean rank"] = min(ranks, key=ranks.get) == "FedSMOO"
    return counted(claims, mean_rank=ranks)


@check(
    "sun23-tab6-tab1",
    figure=bars(
        cells_of("conflicts", "deviations from target"),
        "final accuracy minus target, in printed deviations",
        reference=0,
    ),
)
def targets_and_final_accuracies() -> Verdict:
    """Table 6 against Table 1.

    Statement: a method with final accuracy at or above a target reaches it within 800 rounds, and one that is
        reported to reach it does not end significantly (two printed deviations) below it.
    Assumptions: Table 1 reports round 800; reaching is monotone up to noise.
    Method: all 128 pairs; conflicts in units of the printed standard deviation.
    Verdict: inconsistent in 3 of 128: FedAvg 74% on CIFAR-10 Dirichlet-0.1 "not reached" with final accuracy 76.00;
        FedAdam 68% on CIFAR-10 Pathological-3 (5%) "not reached" with 70.49; FedAdam 35% on CIFAR-100 Pathological-10
        reached at round 788 with 32.58.
    Reference: Sun et al. 2023, Tables 1 and 6.
    """
    claims, conflicts = {}, {}
    for key, entries in _table6().items():
        part, data, split, _ = key
        for name, rounds in entries.items():
            row = table("fedsmoo_table1").one(algorithm=name, dataset=data, split=split, participation=part)
            gap = float((row.value - _target(key)) / Decimal(row["std"]))
            fits = gap > -2 if rounds is not None else gap < 0
            label = f"{name}, {', '.join(key)}"
            claims[label] = fits
            if not fits:
                conflicts[label] = {
                    "rounds": rounds,
                    "final": float(row.value),
                    "deviations from target": round(gap, 2),
                }
    return counted(claims, conflicts=conflicts)


@check("sun23-tab6-caption")
def speed_multiples() -> Verdict:
    """The speed-up multiples that the caption announces are not printed.

    Statement: every entry of Table 6 carries or allows the computation of the multiple to the slowest record of its
        column.
    Assumptions: the slowest record is the largest printed number.
    Method: count of entries with a multiple, without one, and of computable ones; setups named in the caption.
    Verdict: inconsistent: no entry carries a multiple, and 21 entries "-" allow none; the caption names
        Pathological-10 while the CIFAR-10 columns are Pathological-3.
    Reference: Sun et al. 2023, Table 6 caption.
    """
    rows = table("fedsmoo_table6")
    carried = sum("×" in row["printed"] or "times" in row["printed"] for row in rows)
    missing = sum(not row.is_number for row in rows)
    largest = {}
    for key, entries in _table6().items():
        known = {name: value for name, value in entries.items() if value is not None}
        largest[", ".join(key)] = round(max(known.values()) / known["FedSMOO"], 2)
    comparisons = [
        compare("entries that carry a multiple", len(rows), carried),
        compare("entries without number", 0, missing),
    ]
    return arithmetic_verdict(comparisons, multiple_of_FedSMOO=largest, splits=Table(rows).distinct("split"))


@check("sun23-tab6-samslow")
def sam_androunds_to_74() -> Verdict:
    """FedSAM against FedAvg in rounds.

    Statement: SAM optimisers usually make training slower in rounds: FedSAM needs more rounds than FedAvg to most of
        the targets.
    Assumptions: Table 6 as transcribed; "-" means more than 800 rounds; usually means more than half.
    Method: FedSAM minus FedAvg per column.
    Verdict: consistent: slower to all eight lower targets, 8 of the 13 that either reaches, and faster to the other
        five, the higher ones.
    Reference: Sun et al. 2023, App. B.6.
    """
    claims, gaps = {}, {}
    for key, entries in _table6().items():
        sam, plain = (entries[name] if entries[name] is not None else 801 for name in ("FedSAM", "FedAvg"))
        if sam != plain:
            label = f"{', '.join(key)} ({'higher' if _higher(key) else 'lower'} target)"
            claims[label], gaps[label] = sam > plain, [entries["FedSAM"], entries["FedAvg"]]
    slower = sum(claims.values())
    most = f"slower to more than half of {len(claims)} targets"
    evidence = {"printed": most, "derived": f"slower to {slower}", "rounds_FedSAM_FedAvg": gaps}
    evidence["faster"] = [label for label, is_slower in claims.items() if not is_slower]
    return Verdict("consistent" if 2 * slower > len(claims) else "inconsistent", evidence)


@check("sun23-tab7", figure=printed_and_derived)
def wall_clock() -> Verdict:
    """Wall-clock arithmetic of Table 7.

    Statement: total = seconds per round * rounds; multiples 23.52/seconds, 723/rounds, 9637.59/total.
    Assumptions: inputs at their printed precision for the multiples; products of the printed numbers for the totals.
    Method: recomputation at the printed rounding.
    Verdict: inconsistent in the last digit of some multiples (truncated there, rounded in the rounds column); all
        seven totals agree exactly.
    Reference: Sun et al. 2023, Table 7.
    """
    rows, comparisons = table("fedsmoo_table7"), []
    for name in METHODS:
        cell = {row["metric"]: row for row in rows.where(algorithm=name) if row.is_number}
        seconds = cell["seconds_per_round"].value
        comparisons.append(_multiple(name, cell, "seconds_per_round_multiple", ratio(Decimal("23.52"), seconds)))
        if "total_seconds" in cell:
            rounds, time = cell["rounds_to_74"].value, cell["total_seconds"].value
            product = Fraction(seconds) * Fraction(rounds)
            comparisons.append(compare(f"{name}, total", str(time), product))
            comparisons.append(_multiple(name, cell, "rounds_to_74_multiple", Fraction(723, int(rounds))))
            comparisons.append(_multiple(name, cell, "total_seconds_multiple", ratio(Decimal("9637.59"), time)))
    truncated = [row.label for row in comparisons if not row.agrees]
    return arithmetic_verdict(comparisons, not_rounded=truncated)


def _multiple(name: str, cell: dict, metric: str, value: Any) -> Comparison:
    printed = cell[metric]["value"]
    return compare(f"{name}, {metric}", printed, value, rounding=None if printed != "1" else "0.01")


@check("sun23-tab7-overhead")
def sam_overhead() -> Verdict:
    """Per-round overhead of the SAM-type methods.

    Statement: FedSAM, MoFedSAM and FedSMOO take about 1.5x the time per round of the single-gradient methods; FedSMOO
        is 3.73x faster in rounds and 2.11x in time than FedAvg; FedSAM does not accelerate the total time.
    Assumptions: Table 7; "about 1.5" read at one decimal, means of the two groups (the text does not pair the
        methods).
    Method: ratios. The pairs FedSAM/FedAvg, MoFedSAM/FedCM, FedSMOO/FedDyn are listed.
    Verdict: consistent for the group means (1.53); FedSMOO alone is 1.84x FedDyn and 1.76x FedAvg.
    Reference: Sun et al. 2023, App. B.6; Table 7.
    """
    rows = table("fedsmoo_table7")
    seconds = {name: rows.value(algorithm=name, metric="seconds_per_round") for name in METHODS}
    double = ("FedSAM", "MoFedSAM", "FedSMOO")
    groups = [average(seconds[n] for n in double), average(seconds[n] for n in METHODS if n not in double)]
    times = {name: rows.value(algorithm=name, metric="total_seconds") for name in ("FedAvg", "FedSAM", "FedSMOO")}
    comparisons = [
        compare("mean of SAM-type over mean of the others", "1.5", ratio(*groups)),
        compare("rounds, FedAvg/FedSMOO", "3.73", Fraction(723, rounds_to_74("FedSMOO"))),
        compare("time, FedAvg/FedSMOO", "2.11", ratio(times["FedAvg"], times["FedSMOO"])),
        compare("time, FedAvg/FedSAM", "0.81", ratio(times["FedAvg"], times["FedSAM"])),
    ]
    pairs = (("FedSAM", "FedAvg"), ("MoFedSAM", "FedCM"), ("FedSMOO", "FedDyn"), ("FedSMOO", "FedAvg"))
    return arithmetic_verdict(comparisons, pairs={f"{a}/{b}": float(seconds[a] / seconds[b]) for a, b in pairs})


@check("sun23-tab8", mutations=((0.9, "inconsistent"), (1.1, "inconsistent")), figure=printed_and_derived)
def ablation(scale: float = 1.0) -> Verdict:
    """Ablation improvements and their repetition in Table 1.

    Statement: 74.08, 77.63, 80.13, 81.58; improvements over FedAvg 3.55, 6.05, 7.5; each module adds accuracy.
    Assumptions: CIFAR-10 Pathological-3, 10%. Arithmetic side only.
    Method: differences and comparison with FedAvg, FedDyn and FedSMOO of Table 1. ``scale`` multiplies the
        differences.
    Verdict: consistent; rows 1, 2 and 4 repeat Table 1 (FedDyn is the row "dynamic regularisation").
    Reference: Sun et al. 2023, Table 8; App. B.7.
    """
    values = table("fedsmoo_table8").values(metric="test_accuracy")
    comparisons = [
        compare(f"improvement {k}", printed, Fraction(str(scale)) * difference(values[k], values[0]).value)
        for k, printed in ((1, "3.55"), (2, "6.05"), (3, "7.5"))
    ]
    for k, name in ((0, "FedAvg"), (1, "FedDyn"), (3, "FedSMOO")):
        comparisons.append(compare(f"{name} in Table 1", values[k], accuracy(name, "CIFAR-10", "Pathological-3")))
    return arithmetic_verdict(comparisons, increasing=values == sorted(values))


@check(
    "sun23-abstract-sota",
    figure=bars(cells_of("by_method", "mean rank, rounds"), "mean rank in rounds"),
)
def best_overall() -> Verdict:
    """Faster and more accurate than seven baselines, on average.

    Statement: FedSMOO converges faster (rounds to target) and ends higher than the seven baselines on CIFAR-10/100.
    Assumptions: Tables 1 and 6; read on average over the reported settings. Arithmetic side only.
    Method: mean rank and number of best columns per method in both tables.
    Verdict: consistent on average (mean rank 1.1 in accuracy, 2.1 in rounds). In every setting it would not be: best
        accuracy in 14 of 16 columns, fewest rounds in 8 of 16 (7 of 8 higher targets); the mean rank in rounds of
        MoFedSAM is 2.25.
    Reference: Sun et al. 2023, Abstract; Sec. 1; Sec. 6.
    """
    accuracies = [column(*key) for key in COLUMNS]
    rounds = list(_table6().values())
    derived = {}
    for name in METHODS:
        places = [1 + sum(value > entries[name] for value in entries.values()) for entries in accuracies]
        speeds = [_rank(entries, name) if entries[name] is not None else len(METHODS) for entries in rounds]
        derived[name] = {
            "mean rank, accuracy": sum(places) / len(places),
            "mean rank, rounds": sum(speeds) / len(speeds),
            "best columns, accuracy": places.count(1),
            "best columns, rounds": speeds.count(1),
        }
    best = {
        key: min(METHODS, key=lambda name, key=key: derived[name][key])
        for key in ("mean rank, accuracy", "mean rank, rounds")
    }
    agree = set(best.values()) == {"FedSMOO"}
    return Verdict(
        "consistent" if agree else "inconsistent", {"printed": "FedSMOO", "derived": best, "by_method": derived}
    )
