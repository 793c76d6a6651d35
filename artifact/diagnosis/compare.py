"""One step of the patient beside the step that is meant, from the same weights and with the same gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Context, clip
from artifact.base.flat import Layout, norm
from artifact.diagnosis.report import Report, Row
from artifact.diagnosis.watch import Evaluation, Pair, Step, Watch

#: relative difference up to which two vectors or lengths are the same
TOLERANCE = 1e-3
#: difference from the meant weight up to which a term has it
WEIGHT = 0.02
#: what a clip may act on: name -> (there is a limit, it acts on gradient and correction)
CLIPS = {
    "nothing": (False, False),
    "the gradient alone": (True, False),
    "gradient and correction, before weight decay": (True, True),
}


class _Gradients:
    """G of one step: row 0 answers with what the patient has evaluated, row 1 with the truth of a healthy client."""

    def __init__(self, patient: list[Tensor], watch: Watch, like: Evaluation, batch: Pair, own: Step):
        self.patient, self.watch, self.like, self.batch, self.own, self.calls = patient, watch, like, batch, own, 0

    def __call__(self, W: Tensor) -> Tensor:
        g = self.patient[min(self.calls, len(self.patient) - 1)]
        self.calls += 1
        x, y = self.batch
        end = Evaluation(W[1], self.like.training, self.like.statistics, [x])
        return torch.stack([g, self.watch.gradient(end, W[1], y)])

    def affine(self, W: Tensor, Lambda: Tensor, delta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For FedRobust: gradients in the map of the inputs, too, of both clients on their own batches."""
        in_map = []
        for w, L, d, (x, y) in zip(W, Lambda, delta, (self.own.batch, self.batch), strict=True):
            in_map.append(self.watch.gradient_of_map(w, L, d, x, y))
        g_w, g_L, g_d = (torch.stack(parts) for parts in zip(*in_map, strict=True))
        return torch.stack([self.patient[-1], g_w[1]]), g_L, g_d


class Meant:
    """The engine's step of the patient (row 0) and of a healthy client (row 1); ``c`` moves on by one step.

    perturbation: [P], where the patient is meant to take its gradient, minus where it stands.
    end: [P], where it is meant to arrive.  healthy: [P], where the other client arrives.
    """

    def __init__(self, method: FedAvg, c: Context, step: Step, watch: Watch, healthy: Tensor, batch: Pair):
        self.method, self.step, self.watch, self.batch = method, step, watch, batch
        self.W = torch.stack([step.start, healthy])
        self.before = dict(vars(c))
        counted = _Gradients([torch.zeros_like(healthy)], watch, step.evaluations[0], batch, step)
        method.step(self.W, counted, self._context())
        self.first = self._first()
        last = watch.gradient(step.evaluations[-1], step.evaluations[-1].w, step.batch[1])
        self.gradients = [*[self.first] * (counted.calls - 1), last]
        moved = self.at(self.gradients, vars(c))
        self.end, self.healthy = moved
        self.entries = c
        self.perturbation = torch.zeros_like(self.end) if c.e is None else c.e[0]
        self.seen = step.evaluations[-1].w - step.start

    def _context(self, **changed: Any) -> Context:
        c = Context.__new__(Context)
        vars(c).update(self.before | changed)
        return c

    def _first(self) -> Tensor:
        """[P], the gradient that an ascent should follow: at the start, on the samples of the patient's first one."""
        at_start = [e for e in self.step.evaluations[:-1] if torch.equal(e.w, self.step.start)]
        x, y = self.step.batch
        like = self.step.evaluations[0]
        own = at_start[0] if at_start else Evaluation(self.step.start, like.training, like.statistics, [x])
        return self.watch.gradient(own, self.step.start, y)

    def at(self, gradients: list[Tensor], entries: dict[str, Any], W: Tensor | None = None) -> Tensor:
        """[2, P], the step with other gradients or other entries of the context, which it moves on."""
        c = Context.__new__(Context)
        vars(c).update(entries)
        G = _Gradients(gradients, self.watch, self.step.evaluations[0], self.batch, self.step)
        moved = self.method.step(self.W if W is None else W, G, c)
        entries.update(vars(c))
        return moved

    def update(self, gradients: list[Tensor] | None = None, W: Tensor | None = None, **changed: Any) -> Tensor:
        """[P], the meant descent direction, (start - end) / lr, with some things changed."""
        W = self.W if W is None else W
        moved = self.at(self.gradients if gradients is None else gradients, self.before | changed, W)
        return (W[0] - moved[0]) / self.entries.lr


def judged(report: Report, meant: Meant, t: int, k: int, layout: Layout) -> Row:
    """Measure one step, and raise the alarms that it gives reason for."""
    step, e, seen = meant.step, meant.perturbation, meant.seen
    radius = float(getattr(meant.method, "rho", 0.0)) or 1.0
    lengths = {n: (float(seen[part].norm()) / radius, float(e[part].norm()) / radius) for n, part in layout.slices()}
    both = float(seen.norm() * e.norm())
    descent = (step.start - meant.end).norm()
    row = Row(
        round=t,
        step=k,
        length=float(seen.norm()) / radius,
        meant=float(e.norm()) / radius,
        cosine=float(seen @ e) / both if both else 1.0 if not seen.any() and not e.any() else 0.0,
        by_tensor=lengths,
        evaluations=len(step.evaluations),
        same=step.same_inputs() or type(meant.method).step.__qualname__.startswith("FedRobust"),
        moved=step.moved,
        error=float((step.end - meant.end).norm() / descent) if descent else float((step.end - meant.end).norm()),
    )
    report.rows.append(row)
    _perturbation(report, meant, row)
    if not row.same:
        report.alarm("minibatch", "a gradient of the step is not of its minibatch", row)
    if row.moved > 1:
        report.alarm("statistics", f"running statistics move {row.moved} times in one step", row)
    _clipped(report, meant, row)
    return row


def _perturbation(report: Report, meant: Meant, row: Row) -> None:
    if abs(row.length - row.meant) > TOLERANCE * max(row.meant, 1e-3):
        how = f"{row.length:.3f} rho long, meant are {row.meant:.3f} rho"
        lost = row.length == 0 and row.round > 0 and "visited" not in vars(meant.entries)
        report.alarm("length", f"the perturbation is {how}" + ("; is state kept between rounds?" if lost else ""), row)
    if row.meant and row.length and row.cosine < 1 - TOLERANCE:
        text = f"the perturbation has cosine {row.cosine:.3f} to the meant one"
        report.alarm("cosine", text + _ascent_terms(meant), row)


def _ascent_terms(meant: Meant) -> str:
    """What the patient's ascent is made of, where it is made of the terms that the method has: duals by their signs."""
    e = meant.perturbation
    vectors = {"gradient": meant.first}
    for name, value in meant.before.items():
        if name in ("e", "w", "applied") or not torch.is_tensor(value) or value.shape[-1] != len(e):
            continue
        entries = meant.before | {name: torch.zeros_like(value)}
        meant.at(meant.gradients, entries)
        if entries["e"] is not None and not torch.allclose(entries["e"][0], e):
            vectors[name] = value if value.dim() == 1 else value[0]
    if len(vectors) == 1:
        return ""
    A = torch.stack(list(vectors.values()), 1)
    seen, wanted = (torch.linalg.lstsq(A, v[:, None], driver="gelsd").solution[:, 0] for v in (meant.seen, e))
    if float((A @ seen - meant.seen).norm()) > 0.05 * float(meant.seen.norm()) or not seen[0]:
        return ", and no sum of the gradient and the method's duals explains it"
    told = zip(vectors, (seen / seen[0]).tolist(), (wanted / wanted[0]).tolist(), strict=True)
    return "".join(f"; {name} has weight {a:.2f}, meant {b:.2f}" for name, a, b in list(told)[1:])


def _clipped(report: Report, meant: Meant, row: Row) -> None:
    """What a clip acts on, where it acts at all."""
    limit = meant.entries.clip
    if limit is None:
        return
    options: dict[str, Tensor] = {}
    for name, (limited, total) in CLIPS.items():
        options[name] = meant.update(clip=limit if limited else None, clip_total=total)
    options["everything, weight decay included"] = clip(options["nothing"][None], limit)[0]
    seen = (meant.step.start - meant.step.end) / meant.entries.lr
    wanted = meant.update()
    if all(torch.allclose(wanted, other) for other in options.values()):
        return
    fits = [name for name, other in options.items() if _close(seen, other)]
    right = [name for name, other in options.items() if _close(wanted, other)]
    if fits:
        report.clip = fits[0]
    if fits and not set(fits) & set(right):
        report.alarm("clip", f"the clip acts on {fits[0]}; meant is {right[0]}", row)
        row.error = 0.0  # explained


def _close(a: Tensor, b: Tensor) -> bool:
    return float((a - b).norm()) <= TOLERANCE * float(b.norm())


# ---- the terms of a step ---------------------------------------------------------------------------------------------


@dataclass
class Terms:
    """Descent directions of one step, [P] each: what it was, what it was meant to be, and its terms by name.

    present: terms that are meant to have weight 1; the others are meant to have weight 0.
    """

    row: Row
    seen: Tensor
    wanted: Tensor
    terms: dict[str, Tensor]
    present: frozenset[str]


def terms_of(meant: Meant, row: Row) -> Terms:
    """The meant direction taken apart: without each entry in turn, it lacks that entry's term."""
    whole, W, start = meant.update(weight_decay=0.0, clip=None), meant.W, meant.step.start
    zeros = torch.zeros_like(start)
    parts = {"gradient": whole - meant.update([*meant.gradients[:-1], zeros], weight_decay=0.0, clip=None)}
    for name, value in meant.before.items():
        if name in ("w", "e", "applied") or not torch.is_tensor(value) or not value.is_floating_point():
            continue
        if value.shape[-1] == len(start):
            without: dict[str, Any] = {name: torch.zeros_like(value)}
            parts[name] = whole - meant.update(weight_decay=0.0, clip=None, **without)
    w = meant.before["w"]
    moved, none = meant.update(W=W - w, w=zeros, weight_decay=0.0, clip=None), torch.zeros_like(W)
    parts["proximal term"] = moved - meant.update(W=none, w=zeros, weight_decay=0.0, clip=None)
    parts["weight decay"] = meant.before["weight_decay"] * start
    extra = {"gradient at the start, not cleared": meant.first, "perturbation left in the weights": -meant.seen}
    extra["perturbation left in the weights"] = extra["perturbation left in the weights"] / meant.before["lr"]
    if len(meant.gradients) == 1 or not meant.seen.any():
        extra = {}
    present = frozenset(parts)
    seen = (start - meant.step.end) / meant.before["lr"]
    return Terms(row, seen, meant.update(), parts | extra, present)


def explain(report: Report, off: list[Terms]) -> None:
    """Least squares over the steps that are off: the weights of the terms that explain how they differ."""
    if not off:
        return
    names = [name for name in off[0].terms if any(_counts(one, name) for one in off)]
    A = torch.cat([torch.stack([one.terms[name] for name in names], 1) for one in off])
    b = torch.cat([one.seen - one.wanted for one in off])
    size = A.norm(dim=0)
    delta = torch.linalg.lstsq(A / size, b[:, None], driver="gelsd").solution[:, 0] / size
    left = float((A @ delta - b).norm() / b.norm())
    text = f"the step differs from the meant one by {off[0].row.error:.1%}"
    if left > 0.2:
        report.alarm("update", f"{text}, in a way that no term of the method explains", off[0].row)
        return
    for name, change in zip(names, delta.tolist(), strict=True):
        wanted = float(name in off[0].present)
        if abs(change) > WEIGHT:
            report.terms[name] = (round(wanted + change, 6) + 0.0, wanted)  # no minus before a zero
    told = [f"{name} has weight {a:.3f}, meant {b:g}{_hint(a, b)}" for name, (a, b) in report.terms.items()]
    report.alarm("update", "; ".join([text, *told]), off[0].row)


def _counts(step: Terms, name: str) -> bool:
    """Whether a term is more than rounding."""
    return float(norm(step.terms[name])) > 1e-6 * float(norm(step.wanted))


def _hint(seen: float, wanted: float) -> str:
    if wanted and abs(seen + wanted) < WEIGHT:
        return " (opposite sign)"
    return " (it is missing, or not kept between rounds)" if wanted and abs(seen) < WEIGHT else ""
