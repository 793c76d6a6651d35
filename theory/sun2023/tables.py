"""Arithmetic audit of Tables 1-5 and of the numbers that the text quotes from them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

from theory.kit.tables import (
    arithmetic_verdict,
    compare,
    derive,
    difference,
    ratio,
    table,
    total,
)
from theory.kit.verdict import Verdict, check
from theory.sun2023.figures import bars, numbers, printed_and_derived, second_minus_first

UPPER, LOWER = "10% of 100", "5% of 200"
SPLITS = {
    "CIFAR-10": ("Dirichlet-0.6", "Dirichlet-0.1", "Pathological-6", "Pathological-3"),
    "CIFAR-100": ("Dirichlet-0.6", "Dirichlet-0.1", "Pathological-20", "Pathological-10"),
}
METHODS = ("FedAvg", "FedAdam", "SCAFFOLD", "FedCM", "FedDyn", "FedSAM", "MoFedSAM", "FedSMOO")
COLUMNS = [(part, data, split) for part in (UPPER, LOWER) for data, splits in SPLITS.items() for split in splits]


def accuracy(algorithm: str, dataset: str, split: str, participation: str = UPPER) -> Decimal:
    """Entry of Table 1 in per cent."""
    return table("fedsmoo_table1").value(algorithm=algorithm, dataset=dataset, split=split, participation=participation)


def column(part: str, data: str, split: str) -> dict[str, Decimal]:
    """Accuracy of every method in one column of Table 1."""
    return {name: accuracy(name, data, split, part) for name in METHODS}


def counted(claims: dict[str, bool], **more: Any) -> Verdict:
    """Verdict on statements that are claimed true: printed = all true, derived = truth of each, with the exceptions."""
    exceptions = [name for name, truth in claims.items() if not truth]
    evidence = {"printed": len(claims), "derived": len(claims) - len(exceptions), "exceptions": exceptions, **more}
    return Verdict("inconsistent" if exceptions else "consistent", evidence)


def rounds_to_74(algorithm: str) -> int:
    """Rounds to 74% on CIFAR-10 Pathological-3, Table 3."""
    return int(table("fedsmoo_table3").value(algorithm=algorithm, metric="rounds_to_74"))


@check("sun23-tab1")
def best_method_per_column() -> Verdict:
    """FedSMOO is best in 14 of the 16 columns.

    Statement: highest accuracy in 14 of 16 columns, MoFedSAM in the two CIFAR-100 Dirichlet-0.6 columns.
    Assumptions: Table 1 as transcribed. Arithmetic side only; training decides the empirical side.
    Method: best method per column.
    Verdict: consistent.
    Reference: Sun et al. 2023, Table 1.
    """
    winners = {}
    for key in COLUMNS:
        entries = column(*key)
        winners[", ".join(key)] = max(entries, key=entries.get)
    others = {key: name for key, name in winners.items() if name != "FedSMOO"}
    expected = {f"{part}, CIFAR-100, Dirichlet-0.6": "MoFedSAM" for part in (UPPER, LOWER)}
    comparisons = [compare("columns won by FedSMOO", 14, len(winners) - len(others))]
    verdict = arithmetic_verdict(comparisons, other_winners=others)
    return verdict if others == expected else Verdict("inconsistent", dict(verdict.evidence))


PAIRS = (
    ("Dirichlet-0.6", "Dirichlet-0.1"),
    ("Pathological-6", "Pathological-3"),
    ("Pathological-20", "Pathological-10"),
)


def _pairs(data: str) -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if set(pair) <= set(SPLITS[data])]


def _lead(part: str, data: str, split: str) -> Decimal:
    entries = column(part, data, split)
    return entries["FedSMOO"] - max(value for name, value in entries.items() if name != "FedSMOO")


@check(
    "sun23-tab1-hetero",
    figure=bars(second_minus_first("leads"), "growth of the lead of FedSMOO, points", reference=0),
)
def heterogeneity_effect() -> Verdict:
    """Accuracy falls with heterogeneity and FedSMOO's lead grows.

    Statement: accuracy at the milder level exceeds that at the stronger level for every method, data set, split type
        and participation (64 pairs); FedSMOO's lead over the best baseline is larger at the stronger level (8 pairs).
    Assumptions: Table 1 as transcribed. Arithmetic side only.
    Method: all 72 comparisons.
    Verdict: consistent.
    Reference: Sun et al. 2023, Table 1; Sec. 5.2 "Impact of heterogeneity".
    """
    claims, leads = {}, {}
    for part in (UPPER, LOWER):
        for data in SPLITS:
            for mild, strong in _pairs(data):
                label = f"{part}, {data}, {mild} > {strong}"
                for name in METHODS:
                    claims[f"{label}, {name}"] = accuracy(name, data, mild, part) > accuracy(name, data, strong, part)
                before, after = _lead(part, data, mild), _lead(part, data, strong)
                leads[label] = [float(before), float(after)]
                claims[f"{label}, lead of FedSMOO grows"] = after > before
    return counted(claims, leads=leads)


@check("sun23-tab1-drop", figure=bars(numbers("drops_on_CIFAR_10"), "drop from Dirichlet-0.6 to 0.1, points"))
def degradation() -> Verdict:
    """FedSMOO loses less than MoFedSAM from Dirichlet-0.6 to Dirichlet-0.1.

    Statement: CIFAR-10, 10%: MoFedSAM 84.13 to 78.71, FedSMOO drops 3.73 to 80.82; CIFAR-100: MoFedSAM drops 9.53,
        FedSMOO is 1.63 ahead of the second highest at Dirichlet-0.1.
    Assumptions: Table 1 as transcribed.
    Method: differences; the drops of all eight methods are listed.
    Verdict: consistent; four baselines (FedAvg, FedAdam, SCAFFOLD, FedSAM) drop less than FedSMOO on CIFAR-10.
    Reference: Sun et al. 2023, Sec. 5.2 "Impact of heterogeneity".
    """

    def drop(name: str, data: str) -> Any:
        return difference(accuracy(name, data, "Dirichlet-0.6"), accuracy(name, data, "Dirichlet-0.1"))

    entries = column(UPPER, "CIFAR-100", "Dirichlet-0.1")
    second = max(value for name, value in entries.items() if name != "FedSMOO")
    comparisons = [
        compare("MoFedSAM, CIFAR-10, Dirichlet-0.6", "84.13", accuracy("MoFedSAM", "CIFAR-10", "Dirichlet-0.6")),
        compare("MoFedSAM, CIFAR-10, Dirichlet-0.1", "78.71", accuracy("MoFedSAM", "CIFAR-10", "Dirichlet-0.1")),
        compare("FedSMOO, CIFAR-10, Dirichlet-0.1", "80.82", accuracy("FedSMOO", "CIFAR-10", "Dirichlet-0.1")),
        compare("FedSMOO drop, CIFAR-10", "3.73", drop("FedSMOO", "CIFAR-10")),
        compare("MoFedSAM drop, CIFAR-100", "9.53", drop("MoFedSAM", "CIFAR-100")),
        compare("lead on CIFAR-100", "1.63", difference(entries["FedSMOO"], second)),
    ]
    drops = {name: float(drop(name, "CIFAR-10").value) for name in METHODS}
    return arithmetic_verdict(comparisons, drops_on_CIFAR_10=drops)


@check("sun23-tab1-participation")
def participation_effect() -> Verdict:
    """Two of the 64 entries do not fall when participation drops.

    Statement: every method loses accuracy from the upper to the lower part of Table 1; the quoted values; FedSMOO
        best on CIFAR-100 Pathological-10.
    Assumptions: Table 1 as transcribed. Arithmetic side only.
    Method: all 64 pairs and the quoted numbers.
    Verdict: inconsistent: MoFedSAM on CIFAR-10 Pathological-3 rises from 79.57 to 79.93 and FedCM on CIFAR-100
        Pathological-10 stays at 38.35; the five quoted values agree. The sentence on every method is the ledger's
        reading.
    Reference: Sun et al. 2023, Table 1; Sec. 5.2 "Impact of partial participation".
    """
    claims = {}
    for data, splits in SPLITS.items():
        for split in splits:
            for name in METHODS:
                label = f"{name}, {data}, {split}"
                claims[label] = accuracy(name, data, split, UPPER) > accuracy(name, data, split, LOWER)
    quoted = {
        ("CIFAR-10", "Dirichlet-0.1", UPPER): "80.82",
        ("CIFAR-10", "Dirichlet-0.1", LOWER): "79.76",
        ("CIFAR-10", "Pathological-3", UPPER): "81.58",
        ("CIFAR-10", "Pathological-3", LOWER): "81.01",
        ("CIFAR-100", "Pathological-10", UPPER): "44.10",
    }
    for (data, split, part), value in quoted.items():
        claims[f"quoted {value}"] = accuracy("FedSMOO", data, split, part) == Decimal(value)
    for part in (UPPER, LOWER):
        claims[f"best on CIFAR-100 Pathological-10, {part}"] = _lead(part, "CIFAR-100", "Pathological-10") > 0
    return counted(claims)


@check("sun23-tab1-numbers")
def quoted_leads() -> Verdict:
    """Leads quoted in the text.

    Statement: FedSMOO leads by 2.11 (CIFAR-10 Dirichlet-0.1), 1.63 (CIFAR-100 Dirichlet-0.1), 2.01 and 1.08
        (Pathological-3).
    Assumptions: Table 1 as transcribed; 10% unless stated.
    Method: difference to the best other method, which is MoFedSAM in all four.
    Verdict: consistent.
    Reference: Sun et al. 2023, Sec. 5.2 "Comparison with the baselines".
    """
    cases = [
        ("2.11", UPPER, "CIFAR-10", "Dirichlet-0.1"),
        ("1.63", UPPER, "CIFAR-100", "Dirichlet-0.1"),
        ("2.01", UPPER, "CIFAR-10", "Pathological-3"),
        ("1.08", LOWER, "CIFAR-10", "Pathological-3"),
    ]
    return arithmetic_verdict([compare(", ".join(key), printed, _lead(*key)) for printed, *key in cases])


def _gain(better: str, base: str, columns: list) -> Any:
    upper = total(accuracy(better, data, split, part) for part, data, split in columns)
    lower = total(accuracy(base, data, split, part) for part, data, split in columns)
    return derive(lambda a, b: (a - b) / len(columns), upper, lower)


@check("sun23-tab1-fedsam-gain", figure=printed_and_derived)
def average_gains() -> Verdict:
    """Average gains of FedSAM over FedAvg and of MoFedSAM over FedSAM.

    Statement: FedSAM is about 1% above FedAvg, MoFedSAM about 5% above FedSAM on average.
    Assumptions: Table 1; "about k" is read as k rounded to a whole number.
    Method: means over the 16 columns, and per data set and participation.
    Verdict: inconsistent in one of two: 0.69 (rounds to 1) and 4.16 (rounds to 4, printed "about 5"); the second is
        6.3 on CIFAR-10 at 5% and 2.7 on CIFAR-100 at 10%.
    Reference: Sun et al. 2023, Sec. 5.2 "Comparison with the baselines".
    """
    comparisons = [
        compare("FedSAM - FedAvg", "1", _gain("FedSAM", "FedAvg", COLUMNS)),
        compare("MoFedSAM - FedSAM", "5", _gain("MoFedSAM", "FedSAM", COLUMNS)),
    ]
    parts = {}
    for part in (UPPER, LOWER):
        for data in SPLITS:
            chosen = [key for key in COLUMNS if key[:2] == (part, data)]
            pair = [_gain("FedSAM", "FedAvg", chosen), _gain("MoFedSAM", "FedSAM", chosen)]
            parts[f"{part}, {data}"] = [round(float(entry.value), 3) for entry in pair]
    return arithmetic_verdict(comparisons, by_part=parts)


def _table2() -> dict[str, dict[tuple[str, str], Decimal]]:
    rows = table("fedsmoo_table2")
    return {
        metric.split()[0]: {(row["algorithm"], row["split"]): row.value for row in rows.where(metric=metric)}
        for metric in rows.distinct("metric")
    }


@check("sun23-tab2")
def flatness_orderings() -> Verdict:
    """Six orderings of Table 2.

    Statement: divergence, top eigenvalue and trace are smaller for FedSMOO at both levels and increase with
        heterogeneity.
    Assumptions: Table 2 as transcribed. Arithmetic side only.
    Method: the twelve comparisons.
    Verdict: consistent.
    Reference: Sun et al. 2023, Table 2; Sec. 5.2 "Hessian".
    """
    claims = {}
    for metric, cells in _table2().items():
        for split in ("Dirichlet-0.6", "Dirichlet-0.1"):
            claims[f"{metric}, {split}: FedSMOO below FedSAM"] = cells["FedSMOO", split] < cells["FedSAM", split]
        for name in ("FedSAM", "FedSMOO"):
            claims[f"{metric}, {name}: larger at 0.1"] = cells[name, "Dirichlet-0.1"] > cells[name, "Dirichlet-0.6"]
    return counted(claims)


def _rank_correlation(x: list, y: list) -> Fraction:
    ranks = [[sorted(values).index(v) for v in values] for values in (x, y)]
    n, gap = len(x), sum((a - b) ** 2 for a, b in zip(*ranks, strict=True))
    return 1 - Fraction(6 * gap, n * (n * n - 1))


@check("sun23-consistency-flatness")
def divergence_and_flatness() -> Verdict:
    """Rank correlation between divergence and flatness in Table 2.

    Statement: the divergence term is positively associated with top eigenvalue and trace.
    Assumptions: the four cells of Table 2; a wider grid of runs is an experiment.
    Method: Spearman correlation and its exact one-sided permutation probability (24 orders).
    Verdict: consistent in sign (0.8 for both); four cells cannot establish it (probability 4/24 by chance).
    Reference: Sun et al. 2023, Sec. 5.2 "Hessian", last sentence.
    """
    cells = _table2()
    keys = list(cells["consistency"])
    base = [cells["consistency"][key] for key in keys]
    derived, chance = {}, {}
    for metric in ("hessian_top_eigenvalue", "hessian_trace"):
        other = [cells[metric][key] for key in keys]
        value = _rank_correlation(base, other)
        orders = [_rank_correlation(base, list(order)) for order in permutations(other)]
        derived[metric] = float(value)
        chance[metric] = sum(entry >= value for entry in orders) / len(orders)
    agree = all(value > 0 for value in derived.values())
    return Verdict(
        "consistent" if agree else "inconsistent", {"printed": "positive", "derived": derived, "chance": chance}
    )


@check("sun23-tab3", figure=printed_and_derived)
def communication_cost() -> Verdict:
    """Communication cost and speed-up of Table 3.

    Statement: cost = c r/723 V with c = 2 for SCAFFOLD, FedCM, MoFedSAM, FedSMOO and 1 otherwise; speed-up = 723/r.
    Assumptions: rounds are exact counts; the multiples c as stated (sun23-comm-count examines them).
    Method: recomputation at the printed rounding.
    Verdict: inconsistent in one entry: FedSMOO's cost 2 * 194/723 = 0.537 V is printed 0.53 (truncated, not rounded).
    Reference: Sun et al. 2023, Table 3.
    """
    rows, comparisons = table("fedsmoo_table3"), []
    for name in METHODS:
        if name in ("FedAvg", "FedAdam"):
            continue
        multiple = 2 if name in ("SCAFFOLD", "FedCM", "MoFedSAM", "FedSMOO") else 1
        cost = Fraction(multiple * rounds_to_74(name), 723)
        for metric, value in (("communication_cost", cost), ("speedup_vs_FedAvg", Fraction(723, rounds_to_74(name)))):
            comparisons.append(compare(f"{name}, {metric}", rows.one(algorithm=name, metric=metric)["value"], value))
    return arithmetic_verdict(comparisons)


@check("sun23-tab4")
def data_set_sizes() -> Verdict:
    """Data set sizes fit the other numbers of the paper.

    Statement: 50,000 training and 10,000 test images of size 3x32x32 in 10 and 100 classes.
    Assumptions: the class totals of Figures 2 and 6 without replacement (5,000 and 500) and 100 clients of 500
        samples.
    Method: train images / classes and clients * samples. The images themselves are not read here.
    Verdict: consistent.
    Reference: Sun et al. 2023, Table 4; Figures 2 and 6.
    """
    rows = table("fedsmoo_table4")
    comparisons = []
    for data, per_class in (("CIFAR-10", 5000), ("CIFAR-100", 500)):
        train, classes = (rows.value(dataset=data, metric=metric) for metric in ("train_images", "classes"))
        comparisons.append(compare(f"{data}: samples per class", per_class, ratio(train, classes)))
        comparisons.append(compare(f"{data}: 100 clients of 500", train, 100 * 500))
    sizes = {row["dataset"]: row["value"] for row in rows.where(metric="image_size")}
    return arithmetic_verdict(comparisons, image_sizes=sizes)


#: (option, value quoted in the text, grid of Table 5, best selection in Table 5, place of the quotation)
QUOTED_OPTIONS = (
    ("local learning rate", "0.1", ("0.01", "0.1", "0.5"), "0.1", "Sec. 5.1"),
    ("global learning rate", "1", ("0.1", "1"), "1", "Sec. 5.1"),
    ("global learning rate, FedAdam", "0.1", ("0.1", "1"), "1", "Sec. 5.1; App. B.4 says 1.0"),
    ("SAM learning rate, SGD-type", "0.01", ("0.001", "0.01", "0.1"), "0.01", "Sec. 5.1"),
    ("SAM learning rate, proxy-type", "0.1", ("0.01", "0.1", "1.0"), "0.1", "Sec. 5.1"),
    ("decay, SGD-type", "0.998", ("0.995", "0.998", "0.9995"), "0.998", "Sec. 5.1"),
    ("decay, proxy-type", "0.9995", ("0.998", "0.9995", "0.99995"), "0.9995", "Sec. 5.1"),
    ("decay, proxy-type, second value", "0.9998", ("0.998", "0.9995", "0.99995"), "0.9995", "App. B.4"),
    ("beta, CIFAR-10", "10", ("1", "10", "100"), "10", "App. B.4"),
    ("beta, CIFAR-100", "100", ("1", "10", "100"), "10", "App. B.4"),
    ("client momentum", "0.1", ("0.05", "0.1", "0.5"), "0.1", "App. B.4"),
)


@check("sun23-tab5")
def hyperparameter_statements() -> Verdict:
    """Hyper-parameters quoted in three places.

    Statement: Sec. 5.1, Table 5 and App. B.4 quote the same values and every quoted value lies in the stated grid.
    Assumptions: none.
    Method: each quotation against the grid and the best selection of Table 5.
    Verdict: inconsistent: decay 0.9998 (App. B.4) is in no grid, beta = 100 for CIFAR-100 is not the best selection
        of Table 5, FedAdam's global rate is 0.1 in Sec. 5.1 and 1.0 in App. B.4; Table 5 repeats the caption of Table
        4.
    Reference: Sun et al. 2023, Table 5; Sec. 5.1; App. B.4.
    """
    claims = {}
    for option, quoted, grid, best, place in QUOTED_OPTIONS:
        claims[f"{option} = {quoted} ({place}) lies in the grid"] = quoted in grid
        claims[f"{option} = {quoted} ({place}) is Table 5's selection {best}"] = quoted == best
    return counted(claims)
