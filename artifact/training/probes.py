"""Measurements of a round: pure functions of what the engine passes by, never part of a method.

A run names its probes (``--probes drift,sharpness``); they run on its evaluated rounds, appear in ``metrics.jsonl``
under their own names and change no other number. F is the mean loss over all data of the clients (a sample that a
recycled partition gives to two clients counts twice), without weight decay or MAN's term, in evaluation mode. One full
pass is one gradient of F; passes that several probes of a round need are made once.

| probe          | full passes per probed round | measures                                                    |
|----------------|------------------------------|-------------------------------------------------------------|
| perturbation   | 1                            | norm and direction of the perturbations                     |
| drift          | min(local steps, 5)          | FedLESAM's perturbation drift PD; one client's, with bound  |
| estimation     | 3 and 4 top eigenvalues      | bias of the global update as an estimate, SAM's floor       |
| consistency    | 0                            | distance of local models to w^t and w^{t+1} (client drift)  |
| staleness      | 0                            | age of the model that a client last received                |
| dissimilarity  | 1                            | gradient dissimilarity of all clients                       |
| ratios         | 1                            | r_k of Global FedSAM                                        |
| sharpness      | 5 and an evaluation          | global sharpness, one step and ascent, on at most 10,000    |
| layers         | 8 to 16 products per layer   | block top eigenvalues, activations, bounds, on at most 500  |
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from artifact import algorithms
from artifact.algorithms.base import Gradient
from artifact.algorithms.cohort import Cohort, Context
from artifact.algorithms.lesam import FedLESAM
from artifact.base.flat import norm, unit
from artifact.curvature import EmpiricalRisk, iterated_sharpness
from artifact.looseness import bounds, estimation, own_drift

Summary = dict[str, object]

DRIFT_STEPS = 5
SHARPNESS_SAMPLES = 10_000
LAYER_SAMPLES = 500


@dataclass
class Round:
    """What the probes may read of a round.

    method, C: the method and its cohort.  w: [P] the model sent.  weights: [m] N_i / N.  atypicality: [m] distance of
    each client's class shares from the shares over all data.
    client_gradients: w -> [m, P] gradient of every client's loss.  risk: (samples or None, client or None) -> F, or its
    restriction to so many samples, or to a client's.
    cohort_of: round -> its active clients.  last_seen: [S, P] models that the cohort last received, nan before a first
    visit; kept for FedLESAM only.  uncounted: context in which gradients are no cost of the method.  radius: of the
    sharpness.
    """

    method: algorithms.FedAvg
    C: Cohort
    w: Tensor
    weights: Tensor
    atypicality: Tensor
    client_gradients: Callable[[Tensor], Tensor]
    risk: Callable[..., EmpiricalRisk]
    cohort_of: Callable[[int], Tensor]
    last_seen: Tensor | None
    uncounted: Callable[[], AbstractContextManager]
    radius: float

    @cached_property
    def gradients(self) -> Tensor:
        """Gradients [m, P] of all clients at the server's model w."""
        return self.client_gradients(self.w)

    @cached_property
    def full_risk(self) -> EmpiricalRisk:
        return self.risk(None)


@dataclass
class End:
    """What there is after the last local step: next model w [P], local models W [S, P], and the round."""

    w: Tensor
    W: Tensor
    round: Round


class Probe:
    """Base: watches nothing. ``before`` and ``after`` frame every local step, ``results`` ends the round."""

    def __init__(self, round: Round):
        self.round = round

    def before(self, W: Tensor, G: Gradient, c: Context, rows: Tensor | None) -> None:
        """W, c: models and context of the clients at work (rows of the cohort, None for all), before their step."""

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        """The same clients after the step."""

    def results(self, end: End) -> Summary:
        """What goes into the metrics; None stands for a quantity that the method does not have."""
        raise NotImplementedError


class PerturbationProbe(Probe):
    """Norm of the perturbations that a round applies, and how they point.

    norm: mean.  intended: cosine to what the paper's formula gives for the same client, weights and minibatch. For
    FedLESAM that is w_old - w of the client's own last visit; the probe is given it, since the released code does not
    keep it.  global: cosine to the gradient of the whole training loss at w^t. Means over clients and steps, cosines
    over the perturbations that are not zero.
    """

    def __init__(self, round: Round):
        super().__init__(round)
        self.global_gradient = round.weights @ round.gradients
        own = {name: getattr(round.method, name) for name in algorithms.hyperparameters(round.method.name)}
        self.formula = algorithms.build(round.method.name, **own)
        self.values: dict[str, list[Tensor]] = {"norm": [], "intended": [], "global": []}

    def before(self, W: Tensor, G: Gradient, c: Context, rows: Tensor | None) -> None:
        with self.round.uncounted():
            self.reference = self._intended(W, G, copy.copy(c), rows)

    def _intended(self, W: Tensor, G: Gradient, c: Context, rows: Tensor | None) -> Tensor | None:
        if isinstance(self.formula, FedLESAM):
            seen: Any = self.round.last_seen  # [S, P], kept for FedLESAM
            return (seen if rows is None else seen[rows]) - self.round.w
        if isinstance(self.formula, algorithms.FedSpeed):
            return unit(G(W))
        return self.formula.perturbation(W, G, c)

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        if c.e is None:
            return
        self.values["norm"].append(norm(c.e)[:, 0])
        self.values["global"].append(_cosines(c.e, self.global_gradient))
        if self.reference is not None:
            self.values["intended"].append(_cosines(c.e, self.reference))

    def results(self, end: End) -> Summary:
        return {name: _mean(values) for name, values in self.values.items()}


class DriftProbe(Probe):
    """Perturbation drift PD (Fan et al. 2024, section 4.1 and Figure 2, left).

    drift: mean over active clients i and local steps k of ||u_{g,k} - u_{i,k}|| / 2 with u = perturbation / its norm,
    which lies in [0, 1]; the printed formula with perturbations of length rho would lie in [0, rho]. u_{g,k} is the
    unit gradient of F at the virtual global model w_{g,k} = w^t - eta_g mean_i (w^t - w_{i,k}), the mean over the
    cohort, since the other clients have no local model. cosine: mean of <u_{g,k}, u_{i,k}>. none: share of clients and
    steps without a perturbation (FedLESAM's first visits), left out of the means. At most ``DRIFT_STEPS`` local steps
    are probed, evenly spread from the first.  The other entries are those of ``artifact.looseness.own_drift`` for the
    cohort's first client, on the models after these steps: Lemma B.1 of Qu et al. 2022, with any method's steps.
    """

    def __init__(self, round: Round):
        super().__init__(round)
        last = int(round.C.K.max())
        count = min(last, DRIFT_STEPS)
        self.steps = {step * last // count for step in range(count)}
        self.models = round.w.repeat(len(round.C.clients), 1)
        self.path, self.lr = [round.w], 0.0
        self.cosines: list[Tensor] = []
        self.all, self.passes = 0, 0

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        if c.e is not None and c.k in self.steps:
            self.all += len(c.e)
            if bool(c.e.any()):
                virtual = self.round.w + self.round.method.server_lr * (self.models.mean(0) - self.round.w)
                self.cosines.append(_cosines(c.e, self.round.full_risk.gradient(virtual)))
                self.passes += 1
        self.models = W if rows is None else self.models.index_copy(0, rows, W)
        if c.k in self.steps:
            self.path.append(self.models[0].clone())
            self.lr = c.lr

    def results(self, end: End) -> Summary:
        # ||u - v|| of unit vectors from their cosine; rounding may lift that above 1
        halves = [((1 - x.double()).clamp_min(0) / 2).sqrt() for x in self.cosines]
        probed = sum(map(len, self.cosines))
        client = int(self.round.C.clients[0])
        own = own_drift(self.round.risk(None, client), self.path, int(self.round.C.K[0]), self.lr)
        return {
            "drift": _mean(halves),
            "cosine": _mean(self.cosines),
            "none": 1 - probed / self.all if self.all else None,
            "full_passes": self.passes,
            **own,
        }


class EstimationProbe(Probe):
    """Bias of the estimated global perturbation (Fan et al. 2024, Theorem 2) for the round that follows, and the floor
    of SAM's gradient (Qu et al. 2022), each with its bound: see ``artifact.looseness.estimation``.
    """

    def results(self, end: End) -> Summary:
        return estimation(self.round.full_risk, self.round.w, end.w, getattr(self.round.method, "rho", None))


class ConsistencyProbe(Probe):
    """Client drift, mean over the cohort of squared distances (Sun et al. 2023, Table 2 and the text below it).

    to_sent: ||w_i - w^t||^2.  to_next: ||w_i - w^{t+1}||^2.  to_mean: ||w_i - mean_j w_j||^2, the spread alone.
    """

    def results(self, end: End) -> Summary:
        centres = {"to_sent": self.round.w, "to_next": end.w, "to_mean": end.W.mean(0)}
        return {name: float((end.W - centre).double().square().sum(1).mean()) for name, centre in centres.items()}


class StalenessProbe(Probe):
    """Age in rounds of the model that an active client received at its last visit (w_old of Fan et al. 2024).

    age: mean and oldest over the clients that were active before.  first: share of the cohort on its first visit.
    distance: mean ||w_old - w^t||, where the run keeps w_old.
    """

    def results(self, end: End) -> Summary:
        t, waiting = self.round.C.t, set(self.round.C.clients.tolist())
        ages: list[int] = []
        for past in range(t - 1, -1, -1):
            back = waiting.intersection(self.round.cohort_of(past).tolist())
            ages += [t - past] * len(back)
            waiting -= back
            if not waiting:
                break
        size, distance = len(self.round.C.clients), None
        if self.round.last_seen is not None:
            far = norm(self.round.last_seen - self.round.w)
            distance = _mean([far[~far.isnan()]])
        mean = sum(ages) / len(ages) if ages else None
        oldest = max(ages, default=None)
        return {"age": mean, "oldest": oldest, "first": 1 - len(ages) / size, "distance": distance}


class DissimilarityProbe(Probe):
    """How far the clients' gradients at w^t disagree; uniform means over all m clients.

    ratio: mean ||grad f_i||^2 / ||mean grad f_i||^2, the smallest B^2 with G = 0 in Yashwanth et al. 2024, A.2.
    variance: mean ||grad f_i - mean grad f_j||^2.  norm: ||mean grad f_i||.
    """

    def results(self, end: End) -> Summary:
        G = self.round.gradients.double()
        mean = G.mean(0)
        squares, whole = float(G.square().sum(1).mean()), float(mean.square().sum())
        ratio = squares / whole if whole > 0 else None
        return {"ratio": ratio, "variance": float((G - mean).square().sum(1).mean()), "norm": math.sqrt(whole)}


class RatiosProbe(Probe):
    """r_i of Global FedSAM at w^t (Al Kakoun 2024, eq. 3.12 with the repaired norm, GSAM-1), for any method.

    mean, lowest, highest over the cohort of r_i = <gbar, G_i> / ||G_i||, gbar the size-weighted mean over the cohort;
    cosine: mean of the normalised form, <gbar, G_i> / (||gbar|| ||G_i||).  negative: share of r_i below zero.
    atypical: correlation over the cohort of r_i with the client's atypicality, the distance of its class shares
    from the shares over all data (Sec. 3.5: clients of another kind get smaller radii); None where one
    of them is constant.
    """

    def results(self, end: End) -> Summary:
        G = self.round.gradients[self.round.C.clients]
        gbar = (self.round.C.p * G).sum(0)
        r = unit(G) @ gbar
        return {
            "mean": r.mean().item(),
            "lowest": r.min().item(),
            "highest": r.max().item(),
            "cosine": (unit(G) @ unit(gbar)).mean().item(),
            "negative": (r < 0).double().mean().item(),
            "atypical": _correlation(r, self.round.atypicality[self.round.C.clients]),
        }


def _correlation(a: Tensor, b: Tensor) -> float | None:
    """Pearson's, of two vectors; None where one of them does not vary."""
    a, b = a.double() - a.double().mean(), b.double() - b.double().mean()
    lengths = (norm(a) * norm(b)).item()
    return (a @ b).item() / lengths if lengths > 1e-12 else None


class SharpnessProbe(Probe):
    """Global sharpness of w^{t+1} (Fan et al. 2024, Figure 2, right): the rise of F within ``probe_radius``.

    one_step: rise along the unit gradient.  ascent: largest rise over the steps of ``iterated_sharpness``, a lower
    bound of the maximum over the ball.  loss: F.  gradient_norm.  samples: of a fixed random subset if there are more.
    """

    def results(self, end: End) -> Summary:
        found = iterated_sharpness(self.round.risk(SHARPNESS_SAMPLES), end.w, self.round.radius)
        return {
            "one_step": found.one_step,
            "ascent": found.ascent,
            "loss": found.loss,
            "gradient_norm": found.gradient_norm,
            "radius": found.radius,
        }


class LayersProbe(Probe):
    """Per layer of w^{t+1}: block top eigenvalue, mean squared input, and the bounds of MAN beside them.

    Yashwanth et al. 2024, Theorems 2 and 3, on a fixed subset of ``LAYER_SAMPLES`` images; the entries are those of
    ``artifact.looseness.Report.record``. Relative residual at most 1%, and an eigenvalue that did not get there is
    None. Nothing but None where the loss of w^{t+1} is not finite.
    """

    def results(self, end: End) -> Summary:
        risk = self.round.risk(LAYER_SAMPLES)
        if not math.isfinite(float(risk(end.w))):
            return {"top": None, "ratio": None, "each": {}}
        return bounds(risk, w=end.w, tol=1e-2, max_iterations=200, power=False).record()


PROBES: dict[str, type[Probe]] = {
    "perturbation": PerturbationProbe,
    "drift": DriftProbe,
    "estimation": EstimationProbe,
    "consistency": ConsistencyProbe,
    "staleness": StalenessProbe,
    "dissimilarity": DissimilarityProbe,
    "ratios": RatiosProbe,
    "sharpness": SharpnessProbe,
    "layers": LayersProbe,
}


class Watch:
    """The probes of one round together, as ``rounds.play`` wants them."""

    def __init__(self, names: Sequence[str], round: Round):
        self.round = round
        self.probes = {name: PROBES[name](round) for name in names}

    def before(self, W: Tensor, G: Gradient, c: Context, rows: Tensor | None) -> None:
        for probe in self.probes.values():
            probe.before(W, G, c, rows)

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        for probe in self.probes.values():
            probe.after(W, c, rows)

    def results(self, w: Tensor, W: Tensor) -> dict[str, Summary]:
        """w [P]: next model.  W [S, P]: local models. One entry per probe, by its name."""
        end = End(w, W, self.round)
        return {name: probe.results(end) for name, probe in self.probes.items()}


def _cosines(e: Tensor, reference: Tensor) -> Tensor:
    """[R] cosines of rows that are both not zero."""
    reference = reference.expand_as(e)
    valid = (norm(e)[:, 0] > 0) & (norm(reference)[:, 0] > 0)  # false for nan: a client that was never sampled
    return (unit(e) * unit(reference)).sum(-1)[valid]


def _mean(values: list[Tensor]) -> float | None:
    flat = torch.cat(values) if values else torch.empty(0)
    return flat.mean().item() if len(flat) else None
