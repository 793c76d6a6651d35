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
from artifact.diagnosis.watch import Evaluation, Pair, Pass, Step, Watch

#: relative difference up to which two lengths are the same
TOLERANCE = 1e-3
#: difference of two directions that is never more than rounding; single precision raises it, see ``_limit``
EXACT = 1e-6
#: difference from the meant weight up to which a term has it
WEIGHT = 0.02
#: what stands behind an entry of the context in the name of the term with another client's row in its place
OTHER = " of another client"
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
        end = Evaluation(W[1], self.like.training, self.like.statistics, [Pass(x, y, self.like.passes[0].draws)])
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

    def __init__(
        self,
        method: FedAvg,
        c: Context,
        step: Step,
        watch: Watch,
        healthy: Tensor,
        batch: Pair,
        earlier: Meant | None = None,
    ):
        """earlier: the same of the step before."""
        self.method, self.step, self.watch, self.batch, self.earlier = method, step, watch, batch, earlier
        if earlier is not None:
            earlier.earlier = None  # one step back is enough
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
        alone = Evaluation(self.step.start, like.training, like.statistics, [Pass(x, y, like.passes[0].draws)])
        return self.watch.gradient(at_start[0] if at_start else alone, self.step.start, y)

    def at(self, gradients: list[Tensor], entries: dict[str, Any], W: Tensor | None = None) -> Tensor:
        """Start and end [2, P] of the meant step for other gradients or context entries; moves the context on."""
        c = Context.__new__(Context)
        vars(c).update(entries)
        G = _Gradients(gradients, self.watch, self.step.evaluations[0], self.batch, self.step)
        moved = self.method.step(self.W if W is None else W, G, c)
        entries.update(vars(c))
        return moved

    def extras(self) -> dict[str, Tensor]:
        """Vectors [P] that steps are found to contain by mistake, by name."""
        c = self.before
        found = {"weight decay" if c["weight_decay"] else "the weights": (c["weight_decay"] or 1.0) * self.step.start}
        if self.earlier is not None:
            last = self.earlier
            found["the last step's gradient"] = last.gradients[-1]
            found["the last step's direction (momentum)"] = (last.step.start - last.step.end) / c["lr"]
        for name, value in c.items():
            rows = torch.is_tensor(value) and value.is_floating_point() and value.shape == self.W.shape
            if rows and name not in ("e", "applied", "buffer") and not torch.equal(value[0], value[1]):
                found[name + OTHER] = value[1]
        return {name: vector for name, vector in found.items() if bool(vector.any())}

    def update(self, gradients: list[Tensor] | None = None, W: Tensor | None = None, **changed: Any) -> Tensor:
        """The meant descent direction [P], (start - end) / lr, for other gradients or another start."""
        W = self.W if W is None else W
        moved = self.at(self.gradients if gradients is None else gradients, self.before | changed, W)
        return (W[0] - moved[0]) / self.entries.lr


def _limit(size: float, moved: float, kind: torch.dtype, noise: float) -> float:
    """Difference of two directions that rounding may make: of weights of this size that moved so far, of gradients."""
    return max(EXACT, 10 * (torch.finfo(kind).eps * size / max(moved, 1e-30) + noise))


def judged(report: Report, meant: Meant, t: int, k: int, layout: Layout, client: int = 0) -> Row:
    """Measure one step, and raise the alarms that it gives reason for."""
    step, e, seen = meant.step, meant.perturbation, meant.seen
    radius = float(getattr(meant.method, "rho", 0.0)) or 1.0
    lengths = {n: (float(seen[part].norm()) / radius, float(e[part].norm()) / radius) for n, part in layout.slices()}
    descent = float((step.start - meant.end).norm())
    last, y = step.evaluations[-1], step.batch[1]
    noise = meant.watch.rounding(last, meant.gradients[-1], y)
    row = Row(
        round=t,
        step=k,
        length=float(seen.norm()) / radius,
        meant=float(e.norm()) / radius,
        cosine=1.0,
        by_tensor=lengths,
        evaluations=len(step.evaluations),
        same=step.same_inputs() or type(meant.method).step.__qualname__.startswith("FedRobust"),
        moved=step.moved,
        error=float((step.end - meant.end).norm()) / (descent or 1.0),
        limit=_limit(float(step.start.norm()), descent, step.start.dtype, noise),
        client=client,
    )
    if seen.any() or e.any():
        both = float(seen.norm() * e.norm())
        row.cosine = float(seen @ e) / both if both else 0.0
    report.rows.append(row)
    _perturbation(report, meant, row, noise)
    if not row.same:
        report.alarm("minibatch", "a gradient of the step is not of its minibatch", row)
    if row.moved > 1:
        _statistics(report, f"running statistics move {row.moved} times in one step", row)
    elif step.moved_at_perturbed():
        _statistics(report, "running statistics move at the perturbed weights, meant is the start of the step", row)
    if _draw_apart(step):
        report.note("draws", "the two gradients of a step draw different random numbers, as dropout does", row)
    _clipped(report, meant, row)
    return row


def _statistics(report: Report, text: str, row: Row) -> None:
    """Whoever writes the passes answers for the statistics; around an optimiser the doctor writes them."""
    if report.driven:
        hint = "an optimiser cannot know; hold them still in the second pass of your loop, or hand it the model"
        report.note("statistics", f"{text}: {hint}", row)
    else:
        report.alarm("statistics", text, row)


def _draw_apart(step: Step) -> bool:
    if not all(e.drew for e in step.evaluations) or len({e.samples for e in step.evaluations}) != 1:
        return False
    first = step.evaluations[0].passes[0].draws
    others = [e.passes[0].draws for e in step.evaluations[1:]]
    return first is not None and any(other is not None and not first.same(other) for other in others)


def _perturbation(report: Report, meant: Meant, row: Row, noise: float) -> None:
    if abs(row.length - row.meant) > TOLERANCE * max(row.meant, 1e-3):
        how = f"{row.length:.3f} rho long, meant are {row.meant:.3f} rho"
        lost = row.length == 0 and row.round > 0 and "visited" not in vars(meant.entries)
        report.alarm("length", f"the perturbation is {how}" + ("; is state kept between rounds?" if lost else ""), row)
    if not row.meant or not row.length:
        return
    e, seen = meant.perturbation, meant.seen
    apart = float((seen / seen.norm() - e / e.norm()).norm())
    if apart > _limit(float(meant.step.start.norm()), float(e.norm()), e.dtype, noise):
        text = f"the perturbation has cosine {row.cosine:.3f} to the meant one"
        if row.cosine > 0.999:
            text = f"the perturbation points {apart:.2%} away from the meant one"
        report.alarm("cosine", text + _ascent_terms(meant, apart), row)


def _ascent_terms(meant: Meant, apart: float) -> str:
    """What the patient's ascent is made of: gradient, the method's duals, and what has no place in an ascent.

    apart: how far the two directions are from each other; a term that explains less than a fifth of it is not told.
    """
    own = {"gradient": meant.first} | _duals(meant)
    e, seen = meant.perturbation, meant.seen
    if _fit(own, e)[1] > 0.02:
        return _bent(meant, seen, apart)
    for terms in (own, own | _apart(meant.extras())):
        weights, left = _fit(terms, seen)
        if left > 0.2 * min(apart, 0.25):
            continue
        shares = {name: abs(weights[name]) * float(vector.norm()) for name, vector in terms.items()}
        if shares["gradient"] < 1e-3 * max(shares.values()):
            weights["gradient"] = 0.0
        scale = weights["gradient"] or weights[max(shares, key=lambda name: shares[name])]
        wanted = dict.fromkeys(terms, 0.0) | _fit(own, e)[0]
        told = []
        for name, vector in list(terms.items())[1 if weights["gradient"] else 0 :]:
            a, b = weights[name] / scale, wanted[name] / (wanted["gradient"] or 1.0)
            if abs(a - b) * float(vector.norm()) > 0.2 * apart * float(e.norm() / abs(wanted["gradient"] or 1.0)):
                told.append(f"; {name} has weight {_short(a)}, meant {b:.2f}")
        if told:
            return "".join(told)
    return ", and no sum of the gradient and the method's duals explains it" if len(own) > 1 else ""


def _apart(terms: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without terms along an earlier one, as the last step's direction is along its gradient where there is no more."""
    found: dict[str, Tensor] = {}
    for name, vector in terms.items():
        if not any(abs(float(vector @ v)) > (1 - 1e-6) * float(vector.norm() * v.norm()) for v in found.values()):
            found[name] = vector
    return found


def _short(weight: float) -> str:
    return f"{weight:.2f}" if abs(weight) >= 0.01 else f"{weight:.2g}"


def _duals(meant: Meant) -> dict[str, Tensor]:
    """Entries of the context without which the meant ascent would be another one."""
    e, found = meant.perturbation, {}
    for name, value in meant.before.items():
        if name in ("e", "w", "applied") or not torch.is_tensor(value) or value.shape[-1] != len(e):
            continue
        entries = meant.before | {name: torch.zeros_like(value)}
        meant.at(meant.gradients, entries)
        if entries["e"] is not None and not torch.allclose(entries["e"][0], e):
            found[name] = value if value.dim() == 1 else value[0]
    return found


def _fit(terms: dict[str, Tensor], v: Tensor) -> tuple[dict[str, float], float]:
    """Least squares: the weights of the terms in v [P], and what is left of v, over its length."""
    A = torch.stack(list(terms.values()), 1).double()
    size = A.norm(dim=0).clamp_min(1e-30)
    found = torch.linalg.lstsq(A / size, v.double()[:, None], driver="gelsd").solution[:, 0] / size
    left = (A @ found - v).norm() / v.norm().clamp_min(1e-30)
    return dict(zip(terms, found.tolist(), strict=True)), float(left)


def _bent(meant: Meant, seen: Tensor, apart: float) -> str:
    """The same for an ascent that is no sum, as ASAM's: by how the meant one bends when a term joins the gradient."""
    e = meant.perturbation
    bent, steps = {"gradient": e}, {}
    for name, vector in meant.extras().items():
        h = 0.01 * float(meant.first.norm() / vector.norm().clamp_min(1e-30))
        entries = dict(meant.before)
        meant.at([*(g + h * vector for g in meant.gradients[:-1]), meant.gradients[-1]], entries)
        if entries["e"] is not None and not torch.equal(entries["e"][0], e):
            bent[name], steps[name] = (entries["e"][0] - e) / h, vector
    weights, left = _fit(bent, seen)
    if not steps or left > 0.2 * apart:
        return ""
    least = 0.2 * apart * float(e.norm())
    return "".join(
        f"; {name} has weight {_short(weights[name])}, meant 0.00"
        for name in steps
        if abs(weights[name]) * float(bent[name].norm()) > least
    )


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
    further: terms of no method, which are tried where the others do not explain the step.
    """

    row: Row
    seen: Tensor
    wanted: Tensor
    terms: dict[str, Tensor]
    present: frozenset[str]
    further: dict[str, Tensor]


def terms_of(meant: Meant, row: Row) -> Terms:
    """The meant direction taken apart: without each entry in turn, it lacks that entry's term."""
    whole, W, start = meant.update(weight_decay=0.0, clip=None), meant.W, meant.step.start
    zeros = torch.zeros_like(start)
    parts = {"gradient": whole - meant.update([*meant.gradients[:-1], zeros], weight_decay=0.0, clip=None)}
    further = meant.extras()
    for name, value in meant.before.items():
        if name in ("w", "e", "applied") or not torch.is_tensor(value) or not value.is_floating_point():
            continue
        if value.shape[-1] == len(start):
            without: dict[str, Any] = {name: torch.zeros_like(value)}
            parts[name] = whole - meant.update(weight_decay=0.0, clip=None, **without)
        if name + OTHER in further:
            swapped: dict[str, Any] = {name: value.flip(0)}
            other = whole - parts[name]
            further[name + OTHER] = meant.update(weight_decay=0.0, clip=None, **swapped) - other
    w = meant.before["w"]
    moved, none = meant.update(W=W - w, w=zeros, weight_decay=0.0, clip=None), torch.zeros_like(W)
    parts["proximal term"] = moved - meant.update(W=none, w=zeros, weight_decay=0.0, clip=None)
    parts["weight decay"] = meant.before["weight_decay"] * start
    further.pop("weight decay", None)
    extra = {"gradient at the start, not cleared": meant.first, "perturbation left in the weights": -meant.seen}
    extra["perturbation left in the weights"] = extra["perturbation left in the weights"] / meant.before["lr"]
    if len(meant.gradients) == 1 or not meant.seen.any():
        extra = {}
    present = frozenset(parts)
    seen = (start - meant.step.end) / meant.before["lr"]
    return Terms(row, seen, meant.update(), parts | extra, present, further)


def explain(report: Report, off: list[Terms]) -> None:
    """Least squares over the steps that are off: the weights of the terms that explain how they differ."""
    if not off:
        return
    text = f"the step differs from the meant one by {_percent(off[0].row.error)}"
    if any(row.client for row in report.rows) and (mixed := _mixed_up(off)):
        report.terms |= {mixed: (0.0, 1.0), mixed + OTHER: (1.0, 0.0)}
        why = f"{mixed} belongs to the other client, as if both shared one state"
        report.alarm("update", f"{text}; {why}", off[0].row)
        return
    own = [one.terms for one in off]
    whole = [one.terms | one.further for one in off]
    tried = [_least_squares(off, own), _least_squares(off, whole)]
    found = next((one for one in tried if one[2] < 0.01), min(tried, key=lambda one: one[2]))
    if found is tried[1] and tried[0][2] <= 0.2 and found[2] > 0.5 * tried[0][2]:
        found = tried[0]
    changes, shares, left = found
    if left > 0.2:
        report.alarm("update", f"{text}, in a way that no term of the method explains", off[0].row)
        return
    for name, change in changes.items():
        wanted = float(name in off[0].present)
        if abs(change) > WEIGHT or shares[name] > 0.2:
            report.terms[name] = (round(wanted + change, 6) + 0.0, wanted)  # no minus before a zero
    told = []
    for name, (a, b) in report.terms.items():
        shown = f"{a:.3f}" if abs(a) >= 0.01 or a == 0 else f"{a:.2g}"
        told.append(f"{name} has weight {shown}, meant {b:g}{_hint(a, b)}")
    report.alarm("update", "; ".join([text, *told]), off[0].row)


def _mixed_up(off: list[Terms]) -> str:
    """The entry that is the other client's in all steps that are off and explains them; empty where none does.

    With two clients it can look like an opposite sign: c - c_2 = -(c - c_1) where c is the mean of c_1 and c_2.
    """
    b = torch.cat([one.seen - one.wanted for one in off])
    for name in dict.fromkeys(name for one in off for name in one.further if name.endswith(OTHER)):
        own = name.removesuffix(OTHER)
        zero = torch.zeros_like(off[0].seen)
        swapped = torch.cat([one.further.get(name, zero) - one.terms.get(own, zero) for one in off])
        if float((b - swapped).norm()) < 0.01 * float(b.norm()):
            return own
    return ""


def _least_squares(
    off: list[Terms], terms: list[dict[str, Tensor]]
) -> tuple[dict[str, float], dict[str, float], float]:
    """How far the weight of each term is from the meant one, its share of the difference, and what is left of that."""
    known = dict.fromkeys(name for own in terms for name in own)
    names = [name for name in known if any(_counts(one, own, name) for one, own in zip(off, terms, strict=True))]
    zeros = torch.zeros_like(off[0].seen)
    A = torch.cat([torch.stack([own.get(name, zeros) for name in names], 1) for own in terms]).double()
    b = torch.cat([one.seen - one.wanted for one in off]).double()
    size = A.norm(dim=0)
    delta = torch.linalg.lstsq(A / size, b[:, None], driver="gelsd").solution[:, 0]
    left = float((A @ (delta / size) - b).norm() / b.norm())
    changes = dict(zip(names, (delta / size).tolist(), strict=True))
    return changes, dict(zip(names, (delta.abs() / b.norm()).tolist(), strict=True)), left


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 1e-3 else f"{share:.2g} of its length"


def _counts(step: Terms, terms: dict[str, Tensor], name: str) -> bool:
    """Whether a term is more than rounding."""
    return name in terms and float(norm(terms[name])) > 1e-6 * float(norm(step.wanted))


def _hint(seen: float, wanted: float) -> str:
    if wanted and abs(seen + wanted) < WEIGHT:
        return " (opposite sign)"
    return " (it is missing, or not kept between rounds)" if wanted and abs(seen) < WEIGHT else ""
