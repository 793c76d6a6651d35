"""Costs and set-up: gradient evaluations, transmitted models, counts and sizes of the experimental section."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp
import torch

from artifact.algorithms import build
from artifact.algorithms.cohort import Cohort
from artifact.base.flat import Layout
from artifact.training.rounds import play
from theory.kit.formula import formula
from theory.kit.tables import compare, table
from theory.kit.verdict import Replay, Verdict, check
from theory.qu2022.common import compared, instance, repaired, require, require_identity


class _CountedGradient:
    """Gradient oracle on three quadratic clients that counts its backward passes."""

    def __init__(self, dimension: int):
        rng = np.random.default_rng(0)
        self.centres = torch.from_numpy(rng.standard_normal((3, dimension)))
        self.passes = 0

    def __call__(self, W):
        self.passes += 1
        return W - self.centres

    def affine(self, W, Lambda, delta):
        """One backward pass returns the gradients in the weights and in the client's input map."""
        self.passes += 1
        return W - self.centres, torch.zeros_like(Lambda), torch.zeros_like(delta)


def measured(name: str, steps: int = 4, dimension: int = 5, **hyper) -> dict[str, float]:
    """Backward passes per local step and models down and up per client, counted while one round runs."""
    algorithm, oracle = build(name, **hyper), _CountedGradient(dimension)
    w, ones = torch.zeros(dimension, dtype=torch.float64), torch.ones(3, 1, dtype=torch.float64)
    cohort = Cohort(
        clients=torch.arange(3),
        sizes=ones,
        K=steps * ones,
        m=3,
        t=0,
        lr=0.1,
        first_lr=0.1,
        layout=Layout(("w",), ((dimension,),)),
        full_gradient=oracle,
        relative_size=ones,
        K_first=float(steps),
        K_mean=float(steps),
        input_channels=2,
    )
    play(algorithm, algorithm.init(w, 3), w, cohort, [steps] * 3, lambda k, rows: oracle)
    return {"passes": oracle.passes / steps, "down": cohort.traffic.down, "up": cohort.traffic.up}


@check("qu22-eq4-cost")
def cost_of_a_local_step() -> Verdict:
    """Cost of a FedSAM local step and round.

    Statement: a FedSAM local step needs two gradient evaluations on one minibatch (FedAvg one); a client receives and
        sends one model per round, as in FedAvg.
    Assumptions: none; the implementation of the training core is counted.
    Method: oracle calls and transmitted models counted while one round runs on three quadratic clients.
    Verdict: consistent. A solver with M ascent steps needs M + 1 evaluations by definition, here M = 1.
    Reference: Qu et al. 2022, eq. (4), Remark 3.4.
    """
    derived = {name: measured(name) for name in ("fedavg", "fedsam")}
    printed = {
        "fedavg": {"passes": 1.0, "down": 1.0, "up": 1.0},
        "fedsam": {"passes": 2.0, "down": 1.0, "up": 1.0},
    }
    return compared(printed, derived, printed == derived)


@check("qu22-comm-mom")
def communication_of_momentum_methods() -> Verdict:
    """Communication of MoFedSAM.

    Statement: momentum methods transmit more than FedAvg-type methods (Section 5.2), and the two proposed methods do
        not generate more communication than existing methods (Conclusion).
    Assumptions: the client does not keep the previous server model.
    Method: models down and up per client and round, counted in the training core. The momentum can be recovered as
        (w^r - w^(r+1))/eta_g by a client that received both models, which at 20 per cent participation is one in
        five.
    Verdict: inconsistent: the second sentence does not hold for MoFedSAM against FedAvg (3 models against 2); it does
        hold against FedCM, and MimeLite needs 4.
    Reference: Qu et al. 2022, Section 5.2 (1), Conclusion.
    """
    counted = {name: measured(name) for name in ("fedavg", "fedsam", "fedcm", "mofedsam", "mimelite")}
    models = {name: entry["down"] + entry["up"] for name, entry in counted.items()}
    agrees = models["mofedsam"] <= models["fedavg"] and models["mofedsam"] > models["fedsam"]
    return compared(
        "MoFedSAM sends no more than existing methods, and more than FedSAM", models, agrees, counted=counted
    )


def _replay_robust(evidence) -> Replay:
    values = instance(evidence)
    again = {name: Fraction(measured(name)["passes"]) for name in ("fedsam", "fedrobust")}
    counted = again["fedsam"] == values["fedsam_passes"] and again["fedrobust"] == values["fedrobust_passes"]
    return Replay({"counted on the same oracle": counted}, again["fedsam"], again["fedrobust"], "<")


@check("qu22-rem3.4", replay=_replay_robust)
def against_fedrobust() -> Verdict:
    """FedSAM against FedRobust.

    Statement: FedRobust's rate L_f/(RN)^(1/3) + L^2/(R^(1/3) N^(2/3)) is slower in R than L/sqrt(RKN) for all fixed
        N, K, L, and FedRobust needs more gradient evaluations per local step.
    Assumptions: the two quoted rates (they bound different quantities); FedRobust as simultaneous descent and ascent.
    Method: exponents of R for the rates; count of backward passes in the implementation for the cost.
    Verdict: repaired. The comparison of the exponents is true (-1/2 < -1/3); the cost statement is not: one backward
        pass per step yields all gradients of FedRobust, FedSAM needs two.
    Reference: Qu et al. 2022, Remark 3.4; Reisizadeh et al. 2020, Algorithm 1.
    """
    R, N, K, L, L_f, c, sam, robust = sp.symbols("R N K L L_f c c_sam c_robust", positive=True)
    third = sp.Rational(1, 3)
    quotient = L / sp.sqrt(R * K * N) / (L_f / (R * N) ** third + L**2 / (R**third * N ** (2 * third)))
    slower, cost = formula(sp.Symbol("q"), "==", c * R ** (-third / 2)), formula(sam, "==", 2 * robust)
    constant = quotient.subs(R, 1)
    certificate = require_identity(quotient, slower.right.subs(c, constant), "FedSAM's rate over FedRobust's")
    counts = {name: int(measured(name)["passes"]) for name in ("fedsam", "fedrobust")}
    cost.holds_at({"c_sam": 4 * counts["fedsam"], "c_robust": 4 * counts["fedrobust"]})  # of the four steps
    return repaired(
        {"fedsam_passes": counts["fedsam"], "fedrobust_passes": counts["fedrobust"]},
        f"the quoted rate of FedSAM over that of FedRobust is ${slower.latex}$, where $c$ is free of $R$; in gradient "
        f"evaluations a FedSAM step costs ${cost.latex}$",
        certificate,
        counts["fedsam"] / counts["fedrobust"],
    )


@check("qu22-exp-emnist-size", mutations=((0.5, "consistent"), (2.0, "inconsistent")))
def emnist_subsample(scale: float = 1.0) -> Verdict:
    """Size of the EMNIST subsample.

    Statement: "20% of the dataset" are 81,425 samples in total.
    Assumptions: the 62-class by-class split with 697,932 + 116,323 images.
    Method: 0.2 times the total against the printed size, at the printed rounding; ``scale`` multiplies the 20 per
        cent.
    Verdict: inconsistent: 20 per cent are 162,851; the printed size is 10.0 per cent.
    Reference: Qu et al. 2022, Appendix E.1, Table 3.
    """
    total = 697932 + 116323
    fraction = Fraction(table("qu22_text_numbers").one(metric="fraction_of_dataset")["value"]) * Fraction(scale)
    printed = table("qu22_table3").one(dataset="EMNIST")["total_samples"]
    result = compare("EMNIST samples", printed, fraction * total, slack=Fraction(1, 2))
    share = float(Fraction(int(printed), total))
    return compared(int(printed), float(fraction * total), result.agrees, printed_share_of_the_total=share)


#: class names of both data sets (Krizhevsky 2009); 6,000 and 600 images per class
CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
CIFAR100_CLASSES = [
    "apple",
    "aquarium_fish",
    "baby",
    "bear",
    "beaver",
    "bed",
    "bee",
    "beetle",
    "bicycle",
    "bottle",
    "bowl",
    "boy",
    "bridge",
    "bus",
    "butterfly",
    "camel",
    "can",
    "castle",
    "caterpillar",
    "cattle",
    "chair",
    "chimpanzee",
    "clock",
    "cloud",
    "cockroach",
    "couch",
    "crab",
    "crocodile",
    "cup",
    "dinosaur",
    "dolphin",
    "elephant",
    "flatfish",
    "forest",
    "fox",
    "girl",
    "hamster",
    "house",
    "kangaroo",
    "keyboard",
    "lamp",
    "lawn_mower",
    "leopard",
    "lion",
    "lizard",
    "lobster",
    "man",
    "maple_tree",
    "motorcycle",
    "mountain",
    "mouse",
    "mushroom",
    "oak_tree",
    "orange",
    "orchid",
    "otter",
    "palm_tree",
    "pear",
    "pickup_truck",
    "pine_tree",
    "plain",
    "plate",
    "poppy",
    "porcupine",
    "possum",
    "rabbit",
    "raccoon",
    "ray",
    "road",
    "rocket",
    "rose",
    "sea",
    "seal",
    "shark",
    "shrew",
    "skunk",
    "skyscraper",
    "snail",
    "snake",
    "spider",
    "squirrel",
    "streetcar",
    "sunflower",
    "sweet_pepper",
    "table",
    "tank",
    "telephone",
    "television",
    "tiger",
    "tractor",
    "train",
    "trout",
    "tulip",
    "turtle",
    "wardrobe",
    "whale",
    "willow_tree",
    "wolf",
    "woman",
    "worm",
]


@check("qu22-exp-cifar-size")
def cifar_sizes() -> Verdict:
    """Sizes and images of CIFAR-10 and CIFAR-100.

    Statement: both have 60,000 samples, 10 and 100 labels, and the same 60,000 input images.
    Assumptions: the published classes with 6,000 and 600 images each.
    Method: classes times images per class against Table 3. If the images were the same, the 6,000 images of every
        class of CIFAR-10 would carry other labels in CIFAR-100: the class names are compared.
    Verdict: inconsistent: the counts agree, the images cannot be the same, since no class name is shared.
    Reference: Qu et al. 2022, Table 3, Appendix E.1; Krizhevsky 2009.
    """
    derived = [len(CIFAR10_CLASSES) * 6000, len(CIFAR100_CLASSES) * 600]
    printed = [int(table("qu22_table3").one(dataset=d)["total_samples"]) for d in ("CIFAR-10", "CIFAR-100")]
    shared = sorted(set(CIFAR10_CLASSES) & set(CIFAR100_CLASSES))
    return compared(
        {"samples": printed, "labels": [10, 100], "classes of CIFAR-10 found in CIFAR-100": 10},
        {
            "samples": derived,
            "labels": [len(CIFAR10_CLASSES), len(CIFAR100_CLASSES)],
            "classes of CIFAR-10 found in CIFAR-100": len(shared),
        },
        printed == derived and len(shared) == 10,
    )


@check("qu22-exp-setup-count")
def counts_of_the_setup() -> Verdict:
    """Numbers of models, data sets, benchmarks and clients in the set-up.

    Statement: three learning models across three data sets and five benchmarks; two models, CNN on EMNIST and
        ResNet-18 on CIFAR; 100/50 clients.
    Assumptions: none.
    Method: distinct entries of Table 3 and of the tables' rows.
    Verdict: inconsistent: two distinct models, and no table or figure names 50 clients; three data sets and five
        benchmarks agree, and the two descriptions of the CNN agree if the output layer counts as a dense layer.
    Reference: Qu et al. 2022, Sections 5 and 5.1, Table 3, Appendix E.1.
    """
    rows = table("qu22_table3")
    methods = set(table("qu22_table1").distinct("algorithm")) - {"FedSAM", "MoFedSAM"}
    derived = {"models": len(rows.distinct("model")), "datasets": len(rows), "benchmarks": len(methods)}
    printed = {"models": 3, "datasets": 3, "benchmarks": 5}
    clients = table("qu22_hyperparameters").one(name="clients_N")["value"]
    return compared(printed, derived, printed == derived, clients_in_table3="100/50", clients_in_section_5=clients)


@check("qu22-exp-eta-grid")
def learning_rate_grid() -> Verdict:
    """The default learning rate lies in the grid.

    Statement: the grid is {10^-0.5, 10^-1, 10^-1.5, 10^-2} and contains the default eta_l = 0.1; momentum grid {0.01,
        0.1, 0.2, 0.5, 1} contains the default 0.1.
    Assumptions: none.
    Method: membership, exponents as rationals.
    Verdict: consistent.
    Reference: Qu et al. 2022, Appendix E.2.
    """
    rows = table("qu22_hyperparameters")
    exponents = [Fraction(entry.split("^")[1]) for entry in rows.one(name="lr_grid")["value"].split(",")]
    grid = [float(10 ** float(e)) for e in exponents]
    default = float(rows.one(name="eta_l")["value"])
    momentum = rows.one(name="beta_grid")["value"].split(",")
    member = Fraction(-1) in exponents and default == 0.1
    return compared([default, rows.one(name="beta_default")["value"]], [grid, momentum], member and "0.1" in momentum)


@check("qu22-thmD.4-beta-range")
def momentum_range() -> Verdict:
    """The momentum grid of the experiments against the range of the theorem.

    Statement: the theory covers every momentum value of the grid {0.01, 0.1, 0.2, 0.5, 1}.
    Assumptions: Theorems 4.1, D.4 and D.7 ask for beta <= 1/2.
    Method: set comparison.
    Verdict: inconsistent: beta = 1, which is FedSAM, is in the grid and outside the theorem.
    Reference: Qu et al. 2022, Theorem 4.1, Appendix E.2.
    """
    grid = [Fraction(v) for v in table("qu22_hyperparameters").one(name="beta_grid")["value"].split(",")]
    outside = [str(v) for v in grid if v > Fraction(1, 2)]
    return compared([str(v) for v in grid], [str(v) for v in grid if v <= Fraction(1, 2)], not outside, outside=outside)


@check("qu22-exp-rho-theory")
def radius_and_rates_of_the_experiments() -> Verdict:
    """Hyper-parameters of the experiments against the conditions of the theorems.

    Statement: rho = 0.5, eta_l = 0.1, eta_g = 1, K = 10 satisfy rho = O(1/sqrt(R)), eta_l <= 1/(10KL) and eta_g eta_l
        <= 1/(KL) for R = 200 and 800.
    Assumptions: unit constant in rho = 1/sqrt(R); K read as ten local steps, the reading that is kindest to the
        conditions.
    Method: largest L that the conditions allow, and rho sqrt(R). The curvature of a trained network is measured by
        the experiments; the arithmetic gives the L that it would need to stay below.
    Verdict: inconsistent: rho is 7 and 14 times 1/sqrt(R), and L <= 1/10 would be needed.
    Reference: Qu et al. 2022, Section 5.1, Appendix E.2, Theorem 3.1.
    """
    rows = table("qu22_hyperparameters")
    names = ("rho_default", "eta_l", "eta_g", "local_epochs_K")
    rho, local, server, steps = (Fraction(rows.one(name=n)["value"]) for n in names)
    multiples = {r: float(rho) * r**0.5 for r in (200, 800)}
    largest = [1 / (10 * steps * local), 1 / (steps * server * local)]
    return compared(
        {"rho sqrt(R)": 1},
        {f"rho sqrt({r})": round(m, 2) for r, m in multiples.items()},
        max(multiples.values()) <= 1 and min(largest) >= 1,
        largest_admissible_smoothness=[str(v) for v in largest],
    )


#: figure numbers that the paper refers to, with what the sentence says, and what the captions show
REFERENCES = {3: "loss surfaces", 7: "hyper-parameters", 8: "hyper-parameters", 9: "hyper-parameters"}
CAPTIONS = {
    1: "test accuracy",
    2: "loss surfaces",
    3: "hyper-parameters (CIFAR-10)",
    4: "training accuracy",
    5: "hyper-parameters (EMNIST)",
    6: "hyper-parameters (CIFAR-100)",
}


@check("qu22-figs-xref")
def figure_references() -> Verdict:
    """Figures that the text refers to.

    Statement: the loss surfaces are in Figure 3; hyper-parameters in Figures 3, 7, 8 and 9 and in Figures 3 to 6.
    Assumptions: none.
    Method: numbers in the text against the six captions.
    Verdict: inconsistent: the surfaces are Figure 2, Figures 7 to 9 do not exist, and Figure 4 shows training
        accuracy.
    Reference: Qu et al. 2022, Section 5.2 (3)-(4), Appendix F.2.
    """
    absent = [number for number in REFERENCES if number not in CAPTIONS]
    other = [n for n, subject in REFERENCES.items() if n in CAPTIONS and subject not in CAPTIONS[n]]
    return compared(REFERENCES, CAPTIONS, not absent and not other, absent=absent, shows_something_else=other)


@check("qu22-batch")
def batch_size_experiment() -> Verdict:
    """A batch-size experiment is shown.

    Statement: increasing the batch size improves the performance, as the experiments show.
    Assumptions: none.
    Method: subjects of the six figures and five tables; batch sizes among the stated hyper-parameters.
    Verdict: inconsistent: no table or figure varies the batch size; one value is stated per data set. The effect
        itself is not decided here.
    Reference: Qu et al. 2022, Section 5.2 (4).
    """
    shown = [n for n, subject in CAPTIONS.items() if "batch" in subject]
    stated = {row["name"]: row["value"] for row in table("qu22_hyperparameters") if row["name"].startswith("batch")}
    return compared("a batch-size experiment", {"figures": shown, "stated batch sizes": stated}, bool(shown))


@check("qu22-sec4-GB")
def dissimilarity_of_assumption_2() -> Verdict:
    """(G, B)-bounded gradient dissimilarity in Assumption 2.

    Statement: Assumption 2 contains parameters G and B, and (G, B)-BGD is tighter than (G, 0)-BGD.
    Assumptions: BGD is |grad F_i|^2 <= G^2 + B^2 |grad F|^2.
    Method: parameters of the printed assumption (sigma_g only); implication between the conditions on F_i = a_i
        x^2/2: curvatures 2 and 4 satisfy (0, 4/3) and, on the whole line, no (G, 0).
    Verdict: inconsistent: Assumption 2 has neither G nor B, and (G, B) is the weaker condition (it is implied by (G,
        0)).
    Reference: Qu et al. 2022, Assumption 2, end of Section 4.1.
    """
    curvatures = [Fraction(2), Fraction(4)]
    mean = sum(curvatures) / 2
    bound = max(curvatures) / mean
    require(all(a <= bound * mean for a in curvatures), "(0, B) holds with B = 4/3")
    level = Fraction(1000)
    require(
        min(curvatures) * (level + 1) > level, "at x = G + 1 every client gradient exceeds G, so that no (G, 0) holds"
    )
    printed, derived = ["G", "B"], ["sigma_g"]
    return compared(printed, derived, printed == derived, weaker_condition="(G, B)", example_B=str(bound))
