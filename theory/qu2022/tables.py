"""Arithmetic audit of Tables 1, 2, 4 and 5: orders, deviations, targets, repeated columns and quoted numbers.

The audit decides what the printed numbers say; whether training reproduces them is a matter of the experiments.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any

from theory.kit.tables import compare, difference, table
from theory.kit.verdict import Verdict, check
from theory.qu2022.common import compared

PLAIN = ("FedAvg", "SCAFFOLD", "FedRobust", "FedSAM")
MOMENTUM = ("FedCM", "MimeLite", "MoFedSAM")
DATASETS = ("EMNIST", "CIFAR-10", "CIFAR-100")
SPLITS = ("IID", "Dirichlet-0.6", "Dirichlet-0.3")
BY_SPLIT = {"CIFAR-10": "qu22_table2", "EMNIST": "qu22_table4", "CIFAR-100": "qu22_table5"}
ALL_TABLES = ("qu22_table1", "qu22_table2", "qu22_table4", "qu22_table5")


def _cell(name: str, dataset: str, split: str, algorithm: str, metric: str, column: str = "value") -> Decimal | None:
    row = table(name).one(dataset=dataset, split=split, algorithm=algorithm, metric=metric)
    return Decimal(row[column]) if row[column] else None


def _measures(dataset: str, algorithm: str) -> dict[str, Decimal | None]:
    """Train and validation accuracy and rounds of Table 1 (negated: more is better in all three)."""
    place = ("qu22_table1", dataset, "Dirichlet-0.6", algorithm)
    rounds = _cell(*place, "train_acc", "rounds")
    return {
        "train": _cell(*place, "train_acc"),
        "validation": _cell(*place, "validation_acc"),
        "rounds": None if rounds is None else -rounds,
    }


def _order_verdict(order: Iterable[str]) -> Verdict:
    order, rows, wrong = tuple(order), [], []
    for dataset in DATASETS:
        columns = {algorithm: _measures(dataset, algorithm) for algorithm in order}
        for measure in ("train", "validation", "rounds"):
            values = [columns[algorithm][measure] for algorithm in order]
            rows.append([dataset, measure, [str(abs(v)) for v in values]])
            if any(a <= b for a, b in pairwise(values)):
                wrong.append(rows[-1])
    return compared(" > ".join(order), rows, not wrong, columns_out_of_order=wrong, decided="arithmetic side only")


@check("qu22-tab1-order-nonmom")
def order_without_momentum() -> Verdict:
    """Order of the methods without momentum in Table 1.

    Statement: FedSAM > FedAvg > SCAFFOLD > FedRobust in train accuracy, validation accuracy and (reversed) rounds, on
        EMNIST, CIFAR-10 and CIFAR-100.
    Assumptions: none; the printed numbers are taken as they are.
    Method: nine columns of Table 1, strict order of four numbers each.
    Verdict: consistent, all nine columns (the training side is decided by the experiments).
    Reference: Qu et al. 2022, Table 1 and Section 5.2 (1).
    """
    return _order_verdict(("FedSAM", "FedAvg", "SCAFFOLD", "FedRobust"))


@check("qu22-tab1-order-mom")
def order_with_momentum() -> Verdict:
    """Order of the momentum methods in Table 1.

    Statement: MoFedSAM > MimeLite > FedCM in train accuracy, validation accuracy and (reversed) rounds on all data
        sets.
    Assumptions: none.
    Method: nine columns of Table 1, strict order.
    Verdict: inconsistent: the order fails in some columns, which the evidence lists (CIFAR-10 train among them).
    Reference: Qu et al. 2022, Table 1 and Section 5.2 (1).
    """
    return _order_verdict(("MoFedSAM", "MimeLite", "FedCM"))


@check("qu22-tab1-outperform")
def proposed_methods_are_best() -> Verdict:
    """The proposed method is the best of its category in accuracy and rounds in Table 1.

    Statement: FedSAM (no momentum) and MoFedSAM (momentum) have the best validation accuracy and the fewest rounds on
        all three data sets.
    Assumptions: accuracy is that of validation, which Figure 1 shows; Appendix F.1 says that training accuracy does not
        tell the methods apart.
    Method: maximum over the category in each of 12 columns; the six of training accuracy stand beside.
    Verdict: consistent in all 12. Of the six columns of training accuracy one differs (CIFAR-10, MimeLite above
        MoFedSAM by 0.06).
    Reference: Qu et al. 2022, Table 1 and Section 5.2 (1).
    """
    wrong: dict[str, list] = {"decides": [], "train": []}
    for own, category in (("FedSAM", PLAIN), ("MoFedSAM", MOMENTUM)):
        for dataset in DATASETS:
            columns = {algorithm: _measures(dataset, algorithm) for algorithm in category}
            for measure in ("train", "validation", "rounds"):
                best = max(category, key=lambda a, c=columns, m=measure: c[a][m])
                if best != own:
                    pair = [str(abs(columns[own][measure])), str(abs(columns[best][measure]))]
                    wrong["train" if measure == "train" else "decides"].append([dataset, measure, own, best, pair])
    found = f"best in {12 - len(wrong['decides'])} of 12 columns"
    agrees = not wrong["decides"]
    return compared(
        "best in 12 of 12 columns", found, agrees, exceptions=wrong["decides"], in_training_accuracy=wrong["train"]
    )


@check("qu22-tab1-dev")
def smallest_deviation() -> Verdict:
    """The proposed method has the smallest deviation across clients in its category.

    Statement: in Table 1 FedSAM (resp. MoFedSAM) has the smallest standard deviation of train and validation accuracy
        of its category on every data set.
    Assumptions: none.
    Method: minimum of the printed deviations in every column of Table 1, of which the sentence speaks; the columns of
        Tables 2, 4 and 5 stand beside.
    Verdict: consistent in all 12 columns of Table 1. In Table 4 two columns differ, in a row of FedSAM that is another
        method's in Table 1 (qu22-tab1-repeat).
    Reference: Qu et al. 2022, Table 1; Section 5.2 (2).
    """
    wrong: dict[str, list] = {"here": [], "elsewhere": []}
    columns = 0
    for name in ALL_TABLES:
        rows = table(name)
        for dataset in rows.distinct("dataset"):
            for split in rows.where(dataset=dataset).distinct("split"):
                for metric in ("train_acc", "validation_acc"):
                    for own, category in (("FedSAM", PLAIN), ("MoFedSAM", MOMENTUM)):
                        columns += name == "qu22_table1"
                        spread = {a: _cell(name, dataset, split, a, metric, "std") for a in category}
                        best = min(spread, key=spread.get)
                        if spread[best] < spread[own]:
                            place = "here" if name == "qu22_table1" else "elsewhere"
                            row = [name, dataset, split, metric, own, str(spread[own]), best, str(spread[best])]
                            wrong[place].append(row)
    found = f"smallest in {columns - len(wrong['here'])} of {columns} columns"
    claimed = f"smallest in {columns} of {columns} columns"
    agrees = not wrong["here"]
    return compared(claimed, found, agrees, exceptions=wrong["here"], in_other_tables=wrong["elsewhere"])


@check("qu22-tab1-target")
def rounds_and_targets() -> Verdict:
    """Rounds to the target against final accuracies and plotted horizons.

    Statement: a method with a number of rounds has an accuracy of at least the target; '-' appears exactly where the
        target was not reached; all rounds lie within the plotted horizon (200 for EMNIST, 800 for CIFAR).
    Assumptions: targets 80 (EMNIST, CIFAR-10) and 50 (CIFAR-100) per cent validation accuracy.
    Method: every validation row of Tables 1, 2, 4, 5.
    Verdict: inconsistent: rows with rounds but an accuracy below the target, and rounds beyond 800. A curve may pass
        the target and end below it, so that the first kind is possible if the table gives final accuracies.
    Reference: Qu et al. 2022, Tables 1, 2, 4, 5; Figure 1.
    """
    below, dashes, beyond = [], [], []
    for name in ALL_TABLES:
        for row in table(name).where(metric="validation_acc"):
            reached = row.value >= Decimal(row["target_acc"])
            entry = [name, row["dataset"], row["split"], row["algorithm"], row["value"], row["rounds"] or "-"]
            if row["rounds"] and not reached:
                below.append(entry)
            if not row["rounds"] and reached:
                dashes.append(entry)
            if row["rounds"] and int(row["rounds"]) > (200 if row["dataset"] == "EMNIST" else 800):
                beyond.append(entry)
    agrees = not (below or dashes or beyond)
    counts = [len(below), len(dashes), len(beyond)]
    return compared([0, 0, 0], counts, agrees, below_target=below, dash_but_reached=dashes, beyond_horizon=beyond)


def _triple(name: str, dataset: str, algorithm: str) -> list[str]:
    cells = []
    for metric in ("train_acc", "validation_acc"):
        row = table(name).one(dataset=dataset, split="Dirichlet-0.6", algorithm=algorithm, metric=metric)
        cells += [row["value"], row["std"]]
    return [*cells, row["rounds"]]


@check("qu22-tab1-repeat")
def repeated_columns() -> Verdict:
    """The Dirichlet-0.6 columns of Tables 2, 4 and 5 repeat Table 1.

    Statement: for all seven methods and three data sets, accuracies, deviations and rounds are those of Table 1.
    Assumptions: none.
    Method: comparison of 21 rows of five cells; where a row differs, the method of Table 1 that has each cell is
        listed.
    Verdict: inconsistent: CIFAR-10 repeats; on EMNIST cells of FedCM, MimeLite and FedSAM are exchanged, on CIFAR-100
        the FedCM row is Table 1's MimeLite row and the MimeLite row occurs nowhere in Table 1.
    Reference: Qu et al. 2022, Tables 1, 2, 4, 5.
    """
    differing = []
    for dataset, name in BY_SPLIT.items():
        for algorithm in (*PLAIN, *MOMENTUM):
            first, again = _triple("qu22_table1", dataset, algorithm), _triple(name, dataset, algorithm)
            if first != again:
                owners = [
                    [a for a in (*PLAIN, *MOMENTUM) if _triple("qu22_table1", dataset, a)[i] == cell]
                    for i, cell in enumerate(again)
                ]
                differing.append({"row": [dataset, algorithm], "table1": first, name: again, "cells_of": owners})
    return compared("21 equal rows", f"{21 - len(differing)} equal rows", not differing, differing=differing)


def _gains(dataset: str) -> dict[str, Decimal]:
    value = {a: _measures(dataset, a)["validation"] for a in (*PLAIN, *MOMENTUM)}
    return {
        "FedSAM - FedAvg": value["FedSAM"] - value["FedAvg"],
        "relative": (value["FedSAM"] - value["FedAvg"]) / value["FedAvg"],
        "MoFedSAM - best baseline": value["MoFedSAM"] - max(value["FedCM"], value["MimeLite"]),
    }


@check("qu22-tab1-cifar100")
def gain_on_cifar100() -> Verdict:
    """The validation gain is largest on CIFAR-100.

    Statement: FedSAM - FedAvg and MoFedSAM - best momentum baseline are largest on CIFAR-100.
    Assumptions: gains in percentage points (relative gains are listed beside them).
    Method: differences of Table 1.
    Verdict: inconsistent for FedSAM - FedAvg in percentage points (CIFAR-10 has the larger gain); true for MoFedSAM
        and for the relative gain of FedSAM.
    Reference: Qu et al. 2022, Section 5.2 (1).
    """
    gains = {dataset: _gains(dataset) for dataset in DATASETS}
    largest = {kind: max(DATASETS, key=lambda d, k=kind: gains[d][k]) for kind in gains["EMNIST"]}
    numbers = {d: {kind: f"{value:.4f}" for kind, value in entry.items()} for d, entry in gains.items()}
    claimed = [largest["FedSAM - FedAvg"], largest["MoFedSAM - best baseline"]]
    return compared(["CIFAR-100", "CIFAR-100"], claimed, set(claimed) == {"CIFAR-100"}, gains=numbers, largest=largest)


@check("qu22-tab1-signif", mutations=((0.25, "consistent"), (2.0, "inconsistent")))
def significance_of_gains(scale: float = 1.0) -> Verdict:
    """Gains of FedSAM over FedAvg against twice the standard error.

    Statement: the validation gain exceeds 2 sqrt((s1^2 + s2^2)/100) on every data set of Table 1.
    Assumptions: the 100 clients are independent units of one run; unpaired (the pairing is not printed).
    Method: arithmetic on Table 1; ``scale`` multiplies the threshold.
    Verdict: inconsistent: no gain exceeds the threshold.
    Reference: Qu et al. 2022, Table 1.
    """
    rows = []
    for dataset in DATASETS:
        gain = _gains(dataset)["FedSAM - FedAvg"]
        spread = [
            _cell("qu22_table1", dataset, "Dirichlet-0.6", a, "validation_acc", "std") for a in ("FedSAM", "FedAvg")
        ]
        rows.append([dataset, float(gain), scale * 2 * sqrt(sum(float(s) ** 2 for s in spread) / 100)])
    above = [gain > threshold for _, gain, threshold in rows]
    return compared([r[1] for r in rows], [r[2] for r in rows], all(above), rows=rows, above=above)


@check("qu22-tab2-hetero")
def heterogeneity_is_worse() -> Verdict:
    """More heterogeneity is worse for every method.

    Statement: from IID to Dirichlet 0.6 to Dirichlet 0.3, validation accuracy falls for every method and data set.
    Assumptions: the sentence names accuracy; '-' counts as more rounds than any number.
    Method: 21 monotone triples of Tables 2, 4, 5; those of the deviation over clients and of the rounds stand beside.
    Verdict: consistent in all 21 triples. Of the other 42 two are not monotone (FedSAM's deviation on EMNIST, in a row
        that is another method's in Table 1, and MoFedSAM's rounds on CIFAR-100, 129 and then 124).
    Reference: Qu et al. 2022, Tables 2, 4, 5; Section 5.2 (2).
    """
    wrong: dict[str, list] = {"accuracy": [], "beside": []}
    for dataset, name in BY_SPLIT.items():
        for algorithm in (*PLAIN, *MOMENTUM):
            cells = [
                [_cell(name, dataset, split, algorithm, "validation_acc", column) for split in SPLITS]
                for column in ("value", "std", "rounds")
            ]
            for label, values, direction in zip(("accuracy", "deviation", "rounds"), cells, (-1, 1, 1), strict=True):
                known = [direction * v if v is not None else Decimal(10**9) for v in values]
                if any(a > b for a, b in pairwise(known)):
                    place = "accuracy" if label == "accuracy" else "beside"
                    wrong[place].append([dataset, algorithm, label, [str(v) for v in values]])
    found, agrees = f"{21 - len(wrong['accuracy'])} falling triples", not wrong["accuracy"]
    return compared(
        "21 falling triples", found, agrees, exceptions=wrong["accuracy"], in_deviation_and_rounds=wrong["beside"]
    )


@check("qu22-tab2-text")
def quoted_gains_over_mimelite() -> Verdict:
    """Quoted gains of MoFedSAM over MimeLite on CIFAR-10.

    Statement: validation accuracy higher by 0.43, 1.24, 1.52 points and 7, 40, 59 rounds saved (IID, 0.6, 0.3).
    Assumptions: none.
    Method: differences of Table 2, compared at the printed rounding.
    Verdict: inconsistent: 0.43, 0.74, 1.52 points and 7, 28, 58 rounds follow from the table.
    Reference: Qu et al. 2022, Section 5.2 (2), Table 2.
    """
    text, comparisons = table("qu22_text_numbers"), []
    for split in SPLITS:
        cells = {
            a: [_cell("qu22_table2", "CIFAR-10", split, a, "validation_acc", c) for c in ("value", "rounds")]
            for a in ("MoFedSAM", "MimeLite")
        }
        gain = text.one(split=split, metric="validation_acc_gain", versus="MimeLite")["value"]
        saved = text.one(split=split, metric="rounds_saved", versus="MimeLite")["value"]
        own, other = cells["MoFedSAM"], cells["MimeLite"]
        comparisons.append(compare(f"{split} accuracy", gain, difference(own[0], other[0])))
        comparisons.append(compare(f"{split} rounds", saved, difference(other[1], own[1])))
    return _quoted(comparisons)


def _quoted(comparisons) -> Verdict:
    rows = [entry.evidence for entry in comparisons]
    printed, derived = [row["printed"] for row in rows], [row["derived"] for row in rows]
    return compared(printed, derived, all(row["agrees"] for row in rows), rows=rows)


def _drops(metric: str) -> dict[tuple[str, str], Fraction]:
    return {
        (dataset, a): Fraction(_cell(name, dataset, "IID", a, metric) - _cell(name, dataset, SPLITS[2], a, metric))
        for dataset, name in BY_SPLIT.items()
        for a in (*PLAIN, *MOMENTUM)
    }


@check("qu22-tab2-robust")
def smaller_drop() -> Verdict:
    """Proposed methods lose least from IID to Dirichlet 0.3.

    Statement: the drop of validation accuracy is smaller for FedSAM (MoFedSAM) than for every baseline of its
        category, on all three data sets.
    Assumptions: none.
    Method: differences of Tables 2, 4, 5.
    Verdict: inconsistent: the evidence lists baselines with a smaller drop.
    Reference: Qu et al. 2022, Appendix F.1.
    """
    drops = _drops("validation_acc")
    wrong = [
        [dataset, own, float(drops[dataset, own]), other, float(drops[dataset, other])]
        for dataset in BY_SPLIT
        for own, category in (("FedSAM", PLAIN), ("MoFedSAM", MOMENTUM))
        for other in category
        if other != own and drops[dataset, other] <= drops[dataset, own]
    ]
    numbers = {f"{d} {a}": float(v) for (d, a), v in drops.items()}
    return compared("smallest drop in 6 of 6", numbers, not wrong, baselines_with_smaller_drop=wrong)


@check("qu22-tab2-train")
def training_accuracy_drop() -> Verdict:
    """Heterogeneity hardly changes the training accuracy.

    Statement: from IID to Dirichlet 0.3 the drop of training accuracy is small (read: below half) compared with the
        drop of validation accuracy, for all methods and data sets.
    Assumptions: "small compared with" is read as a ratio below 1/2.
    Method: ratio of drops in Tables 2, 4, 5.
    Verdict: inconsistent: on CIFAR-100 the training drop is of the size of the validation drop or larger.
    Reference: Qu et al. 2022, Appendix F.1.
    """
    train, validation = _drops("train_acc"), _drops("validation_acc")
    ratios = {f"{d} {a}": round(float(train[d, a] / validation[d, a]), 3) for d, a in train}
    return compared("ratio below 1/2 in 21 of 21", ratios, max(ratios.values()) < 0.5, largest=max(ratios.values()))


@check("qu22-tab5-text")
def quoted_cifar100_numbers() -> Verdict:
    """Numbers quoted for CIFAR-100 in Appendix F.1.

    Statement: FedCM has 85.26 (4.41) train and 54.09 (14.38) validation, MoFedSAM 86.02 (3.23) and 55.13 (3.25).
    Assumptions: none.
    Method: search for every pair (value, deviation) among all CIFAR-100 entries of Tables 1 and 5.
    Verdict: inconsistent: none of the four pairs occurs.
    Reference: Qu et al. 2022, Appendix F.1; Tables 1, 5.
    """
    entries = {
        (row["value"], row["std"])
        for name in ("qu22_table1", "qu22_table5")
        for row in table(name).where(dataset="CIFAR-100")
    }
    quoted = [
        (row["algorithm"], row["metric"], row["value"], row["std_or_dev"])
        for row in table("qu22_text_numbers").where(dataset="CIFAR-100", metric=["train_acc", "validation_acc"])
    ]
    found = [entry[2:] in entries for entry in quoted]
    tabled = {a: _triple("qu22_table1", "CIFAR-100", a)[:4] for a in ("FedCM", "MoFedSAM")}
    return compared([list(entry) for entry in quoted], tabled, all(found), found=found)


@check("qu22-tab2-text-fedsam")
def quoted_cifar10_numbers() -> Verdict:
    """Numbers quoted for FedSAM on CIFAR-10 in Appendix F.1.

    Statement: train 95.42, 94.20, 92.90 and validation 87.36, 82.55, 79.82 for IID, Dirichlet 0.6, Dirichlet 0.3.
    Assumptions: none.
    Method: comparison with Table 2.
    Verdict: inconsistent: 82.55 is quoted where Table 2 has 83.06; the other five agree.
    Reference: Qu et al. 2022, Appendix F.1; Table 2.
    """
    comparisons = []
    for row in table("qu22_text_numbers").where(dataset="CIFAR-10", algorithm="FedSAM", location="App F.1"):
        cell = _cell("qu22_table2", "CIFAR-10", row["split"], "FedSAM", row["metric"])
        comparisons.append(compare(f"{row['split']} {row['metric']}", row["value"], Fraction(cell)))
    return _quoted(comparisons)


@check("qu22-tab-gap")
def generalisation_gap() -> Verdict:
    """Gap between training and validation accuracy.

    Statement: FedSAM (MoFedSAM) has a smaller gap than every baseline of its category on every data set of Table 1.
    Assumptions: the gap is train - validation accuracy in percentage points.
    Method: differences of Table 1.
    Verdict: inconsistent: the evidence lists baselines with a gap that is not larger.
    Reference: Qu et al. 2022, Section 5.2 (2), Appendix F.1.
    """
    gaps, wrong = {}, []
    for dataset in DATASETS:
        for a in (*PLAIN, *MOMENTUM):
            measures = _measures(dataset, a)
            gaps[dataset, a] = measures["train"] - measures["validation"]
        for own, category in (("FedSAM", PLAIN), ("MoFedSAM", MOMENTUM)):
            others = [a for a in category if a != own and gaps[dataset, a] <= gaps[dataset, own]]
            wrong += [[dataset, own, str(gaps[dataset, own]), a, str(gaps[dataset, a])] for a in others]
    numbers: dict[str, Any] = {f"{d} {a}": str(g) for (d, a), g in gaps.items()}
    return compared("smallest gap in 6 of 6", numbers, not wrong, baselines_with_smaller_gap=wrong)
