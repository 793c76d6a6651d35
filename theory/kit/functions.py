"""Functions and client families that satisfy the papers' assumptions by construction and certify their own constants.

Every ``Smooth`` carries constants that are proved in its constructor's docstring: an upper bound L on ||Hessian||, a
lower bound mu on its smallest eigenvalue (negative for non-convex), an upper bound G on ||gradient|| (inf where there
is none) and a lower bound ``infimum``. A search over such a class never has to test an assumption numerically.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Smooth:
    """A twice differentiable function with certified constants.

    value: [d] -> float; gradient: [d] -> [d]; hessian: [d] -> [d, d]. L >= ||Hessian||_2, mu <= smallest eigenvalue,
    G >= ||gradient|| everywhere, infimum <= value everywhere (-inf where unknown). dimension: d.
    """

    name: str
    dimension: int
    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array], Array]
    L: float
    mu: float = -math.inf
    G: float = math.inf
    infimum: float = -math.inf

    def plus_linear(self, slope: Array, name: str = "") -> Smooth:
        """f(w) + slope.w: same Hessian; G grows by ||slope||; the infimum becomes unknown unless mu > 0."""
        slope = np.asarray(slope, dtype=float)
        changed = bool(np.any(slope))
        return replace(
            self,
            name=name or self.name,
            value=lambda w: self.value(w) + float(slope @ w),
            gradient=lambda w: self.gradient(w) + slope,
            G=self.G + float(np.linalg.norm(slope)),
            infimum=-math.inf if changed else self.infimum,
        )

    def times(self, factor: float) -> Smooth:
        """factor * f for factor > 0: every constant is multiplied."""
        return replace(
            self,
            value=lambda w: factor * self.value(w),
            gradient=lambda w: factor * self.gradient(w),
            hessian=lambda w: factor * self.hessian(w),
            L=factor * self.L,
            mu=factor * self.mu,
            G=factor * self.G,
            infimum=factor * self.infimum,
        )


def quadratic(matrix: Array, linear: Array | None = None, constant: float = 0.0) -> Smooth:
    """0.5 w.A w + b.w + c with symmetric A [d, d], b [d]. L = max |eigenvalue|, mu = smallest eigenvalue, G = inf."""
    A = np.asarray(matrix, dtype=float)
    A = (A + A.T) / 2
    b = np.zeros(len(A)) if linear is None else np.asarray(linear, dtype=float)
    eigenvalues = np.linalg.eigvalsh(A)
    low = -math.inf
    if eigenvalues[0] > 0:
        low = float(constant - 0.5 * b @ np.linalg.solve(A, b))
    return Smooth(
        "quadratic",
        len(A),
        lambda w: float(0.5 * w @ A @ w + b @ w + constant),
        lambda w: A @ w + b,
        lambda w: A,
        L=float(np.abs(eigenvalues).max()),
        mu=float(eigenvalues[0]),
        infimum=low,
    )


@dataclass(frozen=True)
class Profile:
    """A function of one variable with |phi'| <= slope, low <= phi'' <= high, phi >= infimum."""

    phi: Callable[[Array], Array]
    first: Callable[[Array], Array]
    second: Callable[[Array], Array]
    slope: float
    low: float
    high: float
    infimum: float


def _sigmoid(t: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * t))


#: name -> profile. "well" is t^2/(1+t^2): phi'' in [-1/2, 2], |phi'| <= 3 sqrt(3)/8, non-convex and bounded.
PROFILES: dict[str, Profile] = {
    "cosine": Profile(lambda t: 1 - np.cos(t), np.sin, np.cos, 1.0, -1.0, 1.0, 0.0),
    "logistic": Profile(
        lambda t: np.logaddexp(0.0, t), _sigmoid, lambda t: _sigmoid(t) * _sigmoid(-t), 1.0, 0.0, 0.25, 0.0
    ),
    "pseudo-huber": Profile(
        lambda t: np.sqrt(1 + t * t) - 1,
        lambda t: t / np.sqrt(1 + t * t),
        lambda t: (1 + t * t) ** -1.5,
        1.0,
        0.0,
        1.0,
        0.0,
    ),
    "well": Profile(
        lambda t: t * t / (1 + t * t),
        lambda t: 2 * t / (1 + t * t) ** 2,
        lambda t: (2 - 6 * t * t) / (1 + t * t) ** 3,
        3 * math.sqrt(3) / 8,
        -0.5,
        2.0,
        0.0,
    ),
    "tanh": Profile(
        np.tanh,
        lambda t: 1 - np.tanh(t) ** 2,
        lambda t: -2 * np.tanh(t) * (1 - np.tanh(t) ** 2),
        1.0,
        -4 / (3 * math.sqrt(3)),
        4 / (3 * math.sqrt(3)),
        -1.0,
    ),
}


def ridge(profile: str, directions: Array, weights: Array, offsets: Array, convexity: float = 0.0) -> Smooth:
    """sum_j a_j phi(u_j.w + c_j) + convexity/2 ||w||^2: logistic regression, and smooth non-convex pieces.

    directions: [n, d] rows u_j; weights a_j >= 0: [n]; offsets c_j: [n]. The Hessian is sum_j a_j phi''_j u_j u_j^T, so
    with M = sum_j a_j u_j u_j^T it lies between low lambda_max(M) and high lambda_max(M) (every profile has low <= 0 <=
    high), plus convexity; ||gradient|| <= slope sum_j a_j ||u_j|| when convexity = 0.
    """
    p = PROFILES[profile]
    U, a, c = (np.asarray(x, dtype=float) for x in (directions, weights, offsets))
    if np.any(a < 0):
        raise ValueError("weights of a ridge sum must not be negative")
    top = float(np.linalg.eigvalsh((U * a[:, None]).T @ U)[-1])
    low, high = p.low * top + convexity, p.high * top + convexity
    return Smooth(
        f"ridge sum ({profile})",
        U.shape[1],
        lambda w: float(a @ p.phi(U @ w + c) + 0.5 * convexity * w @ w),
        lambda w: (a * p.first(U @ w + c)) @ U + convexity * w,
        lambda w: (U * (a * p.second(U @ w + c))[:, None]).T @ U + convexity * np.eye(U.shape[1]),
        L=max(abs(low), abs(high)),
        mu=low,
        G=math.inf if convexity else p.slope * float(a @ np.linalg.norm(U, axis=1)),
        infimum=p.infimum * float(a.sum()) if convexity >= 0 else -math.inf,
    )


def logistic_regression(features: Array, labels: Array, convexity: float = 0.0) -> Smooth:
    """Mean logistic loss of features [n, d] with labels [n] in {-1, 1}, plus convexity/2 ||w||^2."""
    X, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
    return ridge("logistic", -y[:, None] * X, np.full(len(X), 1 / len(X)), np.zeros(len(X)), convexity)


def softmax_regression(features: Array, labels: Array, classes: int) -> Smooth:
    """Mean cross-entropy of a linear softmax classifier; w is W [classes, d] flattened row by row.

    The Hessian is mean_i (diag p - p p^T) (x) x_i x_i^T with diag p - p p^T <= 1/2 I, hence L = lambda_max(mean x
    x^T)/2; the gradient is mean_i (p - e_y) (x) x_i with ||p - e_y|| <= sqrt(2). Convex; infimum 0.
    """
    X, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=int)
    n, d = X.shape

    def probabilities(w: Array) -> Array:
        logits = X @ w.reshape(classes, d).T
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def value(w: Array) -> float:
        logits = X @ w.reshape(classes, d).T
        top = logits.max(axis=1)
        return float(np.mean(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - logits[np.arange(n), y]))

    def gradient(w: Array) -> Array:
        residual = probabilities(w)
        residual[np.arange(n), y] -= 1
        return (residual.T @ X / n).ravel()

    def hessian(w: Array) -> Array:
        p = probabilities(w)
        middle = np.einsum("ia,ab->iab", p, np.eye(classes)) - np.einsum("ia,ib->iab", p, p)
        return np.einsum("iab,ij,ik->ajbk", middle, X, X).reshape(classes * d, classes * d) / n

    top = float(np.linalg.eigvalsh(X.T @ X / n)[-1])
    bound = math.sqrt(2) * float(np.linalg.norm(X, axis=1).mean())
    return Smooth("softmax regression", classes * d, value, gradient, hessian, top / 2, 0.0, bound, 0.0)


def tanh_network(features: Array, targets: Array, output: Array) -> Smooth:
    """Mean of 1/2 (v.tanh(W x_i) - y_i)^2 over a hidden layer W [h, d] (flattened) with fixed output weights v [h].

    With o = v.tanh(W x): ||grad o|| <= ||v|| ||x||, ||hess o|| <= max|v| 4/(3 sqrt 3) ||x||^2 and |o - y| <= ||v||_1 +
    |y|, which gives G and L; mu = -(the part of L with the residual). infimum 0.
    """
    X, y, v = (np.asarray(x, dtype=float) for x in (features, targets, output))
    (n, d), h = X.shape, len(v)

    def forward(w: Array) -> tuple[Array, Array]:
        hidden = np.tanh(X @ w.reshape(h, d).T)
        return hidden, hidden @ v - y

    def gradient(w: Array) -> Array:
        hidden, residual = forward(w)
        return ((residual[:, None] * v * (1 - hidden**2)).T @ X / n).ravel()

    def hessian(w: Array) -> Array:
        hidden, residual = forward(w)
        slope = v * (1 - hidden**2)
        middle = np.einsum("ia,ib->iab", slope, slope)
        middle += np.einsum("ia,ab->iab", residual[:, None] * v * -2 * hidden * (1 - hidden**2), np.eye(h))
        return np.einsum("iab,ij,ik->ajbk", middle, X, X).reshape(h * d, h * d) / n

    size, residual = np.linalg.norm(X, axis=1), np.abs(v).sum() + np.abs(y)
    curved = float(np.mean(residual * np.abs(v).max() * 4 / (3 * math.sqrt(3)) * size**2))
    return Smooth(
        "tanh network",
        h * d,
        lambda w: float(0.5 * np.mean(forward(w)[1] ** 2)),
        gradient,
        hessian,
        L=float(np.mean((v @ v) * size**2)) + curved,
        mu=-curved,
        G=float(np.mean(residual * np.linalg.norm(v) * size)),
        infimum=0.0,
    )


def relu_network(features: Array, targets: Array, output: Array) -> Smooth:
    """As ``tanh_network`` with ReLU units: not smooth, so L and G are infinite; derivatives almost everywhere.

    Where no unit is at its kink the Hessian is the Gauss-Newton matrix, of norm at most ||v||^2 mean ||x||^2, although
    the gradient jumps across kinks and has no Lipschitz constant: curvature measured at points says nothing about L.
    """
    X, y, v = (np.asarray(x, dtype=float) for x in (features, targets, output))
    (n, d), h = X.shape, len(v)

    def forward(w: Array) -> tuple[Array, Array]:
        before = X @ w.reshape(h, d).T
        return v * (before > 0), np.maximum(before, 0) @ v - y

    def gradient(w: Array) -> Array:
        slope, residual = forward(w)
        return ((residual[:, None] * slope).T @ X / n).ravel()

    def hessian(w: Array) -> Array:
        slope, _ = forward(w)
        return np.einsum("ia,ib,ij,ik->ajbk", slope, slope, X, X).reshape(h * d, h * d) / n

    def value(w: Array) -> float:
        return float(0.5 * np.mean(forward(w)[1] ** 2))

    return Smooth("ReLU network", h * d, value, gradient, hessian, math.inf, infimum=0.0)


@dataclass(frozen=True)
class Family:
    """N clients with certified common constants.

    L: common smoothness; sigma_g: sup over w and i of ||grad F_i - grad F||; sigma_g_mean: root of the sup over w of
    the client mean of its square; G: common gradient bound; sigma_l: bound on the gradient noise when a client draws
    from ``noise`` [M, d], whose rows have mean 0 and mean squared norm <= sigma_l^2.
    """

    clients: tuple[Smooth, ...]
    sigma_g: float
    sigma_g_mean: float
    sigma_l: float = 0.0
    noise: Array | None = None

    @property
    def L(self) -> float:
        return max(client.L for client in self.clients)

    @property
    def G(self) -> float:
        return max(client.G for client in self.clients)

    @property
    def dimension(self) -> int:
        return self.clients[0].dimension

    def value(self, w: Array) -> float:
        return float(np.mean([client.value(w) for client in self.clients]))

    def gradient(self, w: Array) -> Array:
        return np.mean([client.gradient(w) for client in self.clients], axis=0)

    def hessian(self, w: Array) -> Array:
        return np.mean([client.hessian(w) for client in self.clients], axis=0)

    def stochastic_gradient(self, client: int, w: Array, rng: np.random.Generator) -> Array:
        """Unbiased: the client's gradient plus a row of ``noise``."""
        g = self.clients[client].gradient(w)
        return g if self.noise is None else g + self.noise[rng.integers(len(self.noise))]


def tilted_family(base: Smooth, tilts: Array, noise: Array | None = None, sigma_g: float | None = None) -> Family:
    """F_i(w) = base(w) + b_i.w with centred tilts b_i [N, d]: grad F_i - grad F = b_i for every w, so sigma_g is exact.

    noise: [M, d], centred here; sigma_l is its root mean squared norm. sigma_g: rescales the tilts so that the largest
    one has this length (tilts that are not all equal).
    """
    b = np.asarray(tilts, dtype=float)
    b = b - b.mean(axis=0)
    if sigma_g is not None:
        b = b * (sigma_g / np.linalg.norm(b, axis=1).max())
    if noise is not None:
        noise = np.asarray(noise, dtype=float) - np.mean(noise, axis=0)
    lengths = np.linalg.norm(b, axis=1)
    return Family(
        tuple(base.plus_linear(row) for row in b),
        float(lengths.max()),
        float(np.sqrt(np.mean(lengths**2))),
        0.0 if noise is None else float(np.sqrt(np.mean(np.sum(noise**2, axis=1)))),
        noise,
    )


def scaled_family(base: Smooth, factors: Sequence[float]) -> Family:
    """F_i = c_i base with factors c_i > 0 of mean 1: mean ||grad F_i||^2 = B^2 ||grad F||^2 with B^2 = mean c_i^2.

    The heterogeneity is relative: grad F_i - grad F = (c_i - 1) grad F, so sigma_g = max |c_i - 1| G (inf without G).
    """
    c = np.asarray(factors, dtype=float)
    if np.any(c <= 0) or abs(c.mean() - 1) > 1e-12:
        raise ValueError("factors must be positive with mean 1")
    spread = base.G * np.abs(c - 1) if np.ptp(c) else 0 * c
    return Family(tuple(base.times(float(x)) for x in c), float(spread.max()), float(np.sqrt(np.mean(spread**2))))


def bounded_family(clients: Sequence[Smooth]) -> Family:
    """Any clients with bounded gradients: ||grad F_i - grad F|| <= G_i + mean G (inf where a client has no G)."""
    bounds = np.array([client.G for client in clients])
    gaps = bounds + bounds.mean()
    return Family(tuple(clients), float(gaps.max()), float(np.sqrt(np.mean(gaps**2))))


def random_symmetric(rng: np.random.Generator, d: int, low: float, high: float) -> Array:
    """Symmetric [d, d] with extreme eigenvalues exactly low and high (d >= 2), uniform rotation."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.concatenate([[low, high], rng.uniform(low, high, max(d - 2, 0))])[:d]
    return (rotation * eigenvalues) @ rotation.T


def random_ridge(
    rng: np.random.Generator, d: int, L: float = 1.0, profile: str | None = None, pieces: int = 4
) -> Smooth:
    """Random ridge sum scaled so that its certified L is the one given."""
    profile = profile or str(rng.choice(sorted(PROFILES)))
    arguments = rng.standard_normal((pieces, d)), rng.uniform(0.2, 1, pieces), rng.uniform(-3, 3, pieces)
    f = ridge(profile, *arguments)
    return ridge(profile, arguments[0], arguments[1] * L / f.L, arguments[2])
