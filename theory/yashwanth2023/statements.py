"""Settings, captions and cross-references: statements of the text against each other; the Dirichlet split."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as Q
from itertools import pairwise

import numpy as np
import sympy as sp

from theory.kit.formula import formula
from theory.kit.symbolic import identity
from theory.kit.verdict import Verdict, check
from theory.yashwanth2023.common import agreement, exact, proved, refuted

#: (place, data set or method, printed coefficient)
ZETA = (
    ("Sec. 4", "CIFAR-100", Q(15, 100)),
    ("Sec. 4", "Tiny-ImageNet", Q(1, 10)),
    ("supplement Sec. 7", "FedAvg+MAN by default", Q(6, 10)),
)


@check("man-zeta-values")
def zeta_values() -> Verdict:
    """Values of the coefficient.

    Statement: Sec. 4 (0.15 for CIFAR-100, 0.1 for Tiny-ImageNet, details in supplement Sec. 7) and supplement Sec. 7
    (0.6 by default for FedAvg+MAN) agree.
    Assumptions: none.
    Method: all printed values side by side; a default of FedAvg+MAN applies to at least one data set of Table 1.
    Verdict: inconsistent: the supplement's default is 4 and 6 times the values of the main text. The discrepancy ledger
    (MAN-1, MAN-4) adds that the released code halves the coefficient.
    Reference: Yashwanth et al. 2024, Sec. 4; supplement Secs. 4 and 7.
    """
    main, default = [z for place, _, z in ZETA if place == "Sec. 4"], ZETA[2][2]
    return agreement(
        default in main,
        {"main text": main},
        {"supplement": default, "ratios": [default / z for z in main]},
        occurrences=[list(entry) for entry in ZETA],
    )


@check("man-fig5")
def sensitivity_range() -> Verdict:
    """Range of the sensitivity study.

    Statement: accuracy is stable over zeta from 0.1 to 3.0 (caption of Figure 5), respectively 0.1 to 1.5 (text).
    Assumptions: the two describe one plot.
    Method: the two quoted ranges; the curve itself needs training and is an experiment.
    Verdict: inconsistent: the upper ends differ by a factor of two. The plot is not in the material at hand.
    Reference: Yashwanth et al. 2024, Figure 5; supplement Sec. 4.
    """
    caption, text = [Q(1, 10), Q(3)], [Q(1, 10), Q(3, 2)]
    return agreement(caption == text, {"caption": caption}, {"text": text})


CAPTIONS = {
    "Figures 2-3": (("FedAvg", "FedDyn", "FedDC"), ("FedAvg", "FedDyn", "FedDC")),
    "Figures 6-7": (("FedAvg", "FedDyn", "FedDC"), ("FedSAM", "FedASAM", "FedSpeed")),
}


@check("man-fig6-7")
def captions_of_curves() -> Verdict:
    """Captions of Figures 6 and 7.

    Statement: Figures 6-7 show FedSAM, FedASAM and FedSpeed with and without MAN (text); the captions name FedAvg,
    FedDyn, FedDC.
    Assumptions: none.
    Method: methods named by caption and text, for Figures 2-3 and 6-7; the curves themselves need training.
    Verdict: inconsistent for Figures 6-7, whose captions repeat those of Figures 2-3.
    Reference: Yashwanth et al. 2024, Figures 6-7; supplement Sec. 5.1.
    """
    caption, text = CAPTIONS["Figures 6-7"]
    return agreement(
        caption == text,
        {"caption": list(caption)},
        {"text": list(text)},
        all={k: [list(c), list(t)] for k, (c, t) in CAPTIONS.items()},
    )


#: setting -> (main text, supplement); None where a text does not mention it
SETTINGS: dict[str, tuple[object, object]] = {
    "learning rate": ("0.1", "0.1"),
    "decay per round": ("0.998", "0.998"),
    "batch size": (50, 50),
    "local epochs": (5, 5),
    "participation": ("10% of 100", "10%"),
    "gradient clipping": (None, 10),
    "rounds": (500, None),
    "reported model": ("average of all client models", None),
    "weight decay": (None, "1e-3, named for FedSAM+MAN on Tiny-ImageNet iid"),
    "alpha of FedDyn and FedDC": (None, "0.01"),
    "rho of FedSAM": (None, "0.05; Tiny-ImageNet iid 0.03, with MAN 0.01"),
    "rho of FedSpeed": (None, "0.1; iid 0.01; with 'no gradient cutoff threshold to 0.05'"),
    "rho, eta of FedASAM": (None, "0.5, 0.2; iid 0.1, 0.2"),
}


@check("man-hyper")
def hyper_parameters() -> Verdict:
    """Hyper-parameters of main text and supplement.

    Statement: learning rate 0.1 with decay 0.998, batch 50, 5 epochs, 10% of 100 clients, clipping 10, equal client
    sizes and the per-method constants; both texts agree and every statement can be executed.
    Assumptions: CIFAR-100 50,000 and Tiny-ImageNet 100,000 training images, divided equally.
    Method: settings named by both texts compared; local steps per round as exact integers.
    Verdict: consistent where both texts name a setting (zeta apart: man-zeta-values). Eight settings stand in one text
    only; the sentence on FedSpeed's cutoff cannot be executed as printed; the effect of reporting the average of all
    client models is an experiment.
    Reference: Yashwanth et al. 2024, Sec. 4; supplement Sec. 7.
    """
    both = {name: pair for name, pair in SETTINGS.items() if None not in pair}
    agrees = all(str(main).startswith(str(other)) for main, other in both.values())
    steps = {name: 5 * Q(total, 100 * 50) for name, total in (("CIFAR-100", 50000), ("Tiny-ImageNet", 100000))}
    return agreement(
        agrees and all(s.denominator == 1 for s in steps.values()),
        {name: main for name, (main, _) in both.items()},
        {name: other for name, (_, other) in both.items()},
        named_once=[name for name in SETTINGS if name not in both],
        local_steps_per_round=steps,
        rate_after_500_rounds=0.1 * 0.998**500,
    )


def simulated_imbalance(delta: float, classes: int, draws: int = 2000) -> dict[str, float]:
    """Mean Simpson index, entropy and total variation from uniform of Dirichlet(delta) label distributions."""
    p = np.random.default_rng(0).dirichlet(np.full(classes, delta), draws)
    entropy = -(p * np.log(np.clip(p, 1e-300, None))).sum(axis=1)
    return {
        "delta": delta,
        "simpson": float((p**2).sum(axis=1).mean()),
        "simpson_formula": (1 + delta) / (1 + classes * delta),
        "entropy": float(entropy.mean()),
        "total_variation": float(np.abs(p - 1 / classes).sum(axis=1).mean() / 2),
    }


def _draw_imbalance(axes, evidence) -> None:
    rows = evidence["simulated"]
    axes.semilogx([r["delta"] for r in rows], [r["simpson"] for r in rows], "o", label="simulated")
    axes.semilogx([r["delta"] for r in rows], [r["simpson_formula"] for r in rows], "-", label="(1+delta)/(1+C delta)")
    axes.set(xlabel="delta", ylabel="expected sum of squared label shares")
    axes.legend()


@check("man-dirichlet", mutations=((0.9, "refuted"), (1.1, "refuted")), figure=_draw_imbalance)
def dirichlet_split(scale: float = 1.0) -> Verdict:
    """Label imbalance decreases with delta.

    Statement: for label distributions drawn from Dir(delta), lower delta gives higher label imbalance; client sizes are
    equal.
    Assumptions: symmetric Dirichlet over C >= 2 classes; imbalance as the expected sum of squared label shares.
    Method: E sum p_c^2 = (1+delta)/(1+C delta) from the moments of the Beta marginals, derivative symbolically;
    simulation of this index, the entropy and the total variation for C = 100. Mutations scale the closed form.
    Verdict: proved.
    Reference: Yashwanth et al. 2024, Sec. 4; supplement Sec. 6.
    """
    rows = [simulated_imbalance(delta, 100) for delta in (0.01, 0.1, 0.3, 0.6, 1.0, 10.0)]
    for row in rows:
        predicted = float(exact(scale)) * row["simpson_formula"]
        if abs(row["simpson"] - predicted) > 0.04 * row["simpson"]:
            return refuted({"delta": row["delta"], "simulated": row["simpson"], "scaled_formula": predicted})
    ordered = all(
        a["entropy"] < b["entropy"] and a["total_variation"] > b["total_variation"] for a, b in pairwise(rows)
    )
    if not ordered:
        raise ValueError("the simulated entropy or total variation is not monotone")
    delta, C = sp.symbols("delta C", positive=True)
    mean, total = 1 / C, C * delta  # p_c is Beta(delta, (C-1) delta)
    second = mean * (1 - mean) / (total + 1) + mean**2
    index, change = sp.symbols("index change", real=True)
    names = {index: r"\mathbb E\sum_cp_c^2", change: r"\partial_\delta\mathbb E\sum_cp_c^2"}
    imbalance = formula(index, "==", (1 + delta) / (1 + C * delta), names)
    slope = formula(change, "==", (1 - C) / (1 + C * delta) ** 2, names)
    return proved(
        identity(C * second, imbalance.right, label="C E p_c^2"),
        identity(sp.diff(imbalance.right, delta), slope.right, label="derivative in delta"),
        "negative for C >= 2",
        margin=1.0,
        simulated=rows,
    )


@dataclass(frozen=True)
class Reference:
    """A cross-reference: where it stands, what it names, what it is meant to point to, where that is."""

    place: str
    printed: str
    subject: str
    found_at: str

    @property
    def resolves(self) -> bool:
        return self.printed == self.found_at


REFERENCES = (
    Reference("Sec. 3.2.2", "supplement Sec. 2", "proof of Theorem 1", "supplement Sec. 2"),
    Reference("Sec. 3.2.3", "Eq. 34", "fully connected layer, main text", "Eq. 10"),
    Reference("Sec. 3.2.3", "Eq. 35", "convolutional layer, main text", "Eq. 11"),
    Reference("Sec. 3.2.3", "Theorem 5", "result on fully connected layers, main text", "Theorem 2"),
    Reference("Sec. 3.2.3", "Theorem 6", "result on convolutional layers, main text", "Theorem 3"),
    Reference("Sec. 3.2.4", "Eq. 9", "problem whose eigenvalue term is replaced", "Eq. 9"),
    Reference("Sec. 3.2.5", "Eq. 15", "client objective f_k", "Eq. 15"),
    Reference("Sec. 4", "supplement Sec. 3", "model specifications", "supplement Sec. 3"),
    Reference("Sec. 4", "supplement Sec. 6", "effect of delta on the clients", "supplement Sec. 6"),
    Reference("Sec. 4", "supplement Sec. 4", "sensitivity to zeta", "supplement Sec. 4"),
    Reference("Sec. 4", "supplement Sec. 7", "values of zeta", "supplement Sec. 7"),
    Reference("Sec. 4", "supplement Sec. 5.2", "CIFAR-10 results", "supplement Sec. 5.2"),
    Reference("Sec. 5", "supplement Sec. 8", "algorithm details", "supplement Sec. 8"),
    Reference("Sec. 5", "supplement Sec. 5.1", "curves of FedSAM, FedASAM, FedSpeed", "supplement Sec. 5.1"),
    Reference("Sec. 5.1", "supplement Sec. 5.3", "Hessian analysis of the other methods", "supplement Sec. 5.3"),
    Reference(
        "supplement Sec. 8", "main text Sec. 3.2.3", "definition of the activation-norm loss", "main text Sec. 3.2.4"
    ),
    Reference("captions of Figures 6-7", "FedAvg, FedDyn, FedDC", "methods shown", "FedSAM, FedASAM, FedSpeed"),
    Reference("Sec. 5.1", "FedAvg+MAN", "method with the higher trace", "FedSAM"),
)


@check("man-refs")
def cross_references() -> Verdict:
    """Cross-references between main text and supplement.

    Statement: the cross-references point to the intended objects.
    Assumptions: the intended object is the one that the sentence describes.
    Method: eighteen references resolved by hand, listed with what they describe and where that stands.
    Verdict: inconsistent: seven do not resolve as printed. Theorems 5 and 6 and Eqs. 34-35 are the supplement's copies
    of the objects meant; the other three name another section, other methods, or the method itself.
    Reference: Yashwanth et al. 2024, Secs. 3.2.3, 4, 5, 5.1; supplement Secs. 5.1, 8.
    """
    wrong = [r for r in REFERENCES if not r.resolves]
    return agreement(
        not wrong,
        [r.printed for r in REFERENCES],
        [r.found_at for r in REFERENCES],
        unresolved=[
            {"place": r.place, "printed": r.printed, "subject": r.subject, "found_at": r.found_at} for r in wrong
        ],
    )
