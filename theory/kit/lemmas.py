"""Lemmas that several papers share, each as a proof object whose constants are arguments.

A constant that the facts do not give makes ``Proof.verify`` raise ``Rejected``.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from theory.kit.proof import Proof, Step, Vector, square_of

R = sp.Rational


def three_terms(on_sigma: Any, on_error: Any) -> Proof:
    """|grad F_i(w + d_i) - grad F(w + d)|^2 <= on_sigma sigma_g^2 + on_error L^2 rho^2 for |d_i|, |d| <= rho."""
    proof = Proof("gradients at perturbed points")
    L, rho, sigma = proof.scalar("L", "positive"), proof.scalar("rho"), proof.scalar("sigma_g")
    own, common = proof.vector("d_i"), proof.vector("d")
    a, c = proof.vector("A", change_along="d_i"), proof.vector("C", change_along="d")
    b = proof.vector("B")
    vectors = {"size_d_i": own, "size_d": common, "size_A": a, "size_C": c, "size_B": b, "size_all": a + b - c}
    size = {name: proof.scalar(name) for name in vectors}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in vectors.items()}
    dissimilar = proof.hypothesis("A2", sigma - size["size_B"], "|grad F_i(w) - grad F(w)| <= sigma_g")
    reaches = []
    for change, move in (("size_A", "size_d_i"), ("size_C", "size_d")):
        short = proof.hypothesis(f"{move} <= rho", rho - size[move], "length of the perturbation")
        smooth = proof.smooth_gradient(f"smooth along {move}", size[change], size[move], L)
        reaches.append(proof.combine(f"{change} <= L rho", L * rho - size[change], [(1, smooth), (L, short)]))
    parts = [(1, size["size_A"]), (1, size["size_B"]), (-1, size["size_C"])]
    split = proof.triangle("three terms", size["size_all"], parts)
    error, whole = L * rho, size["size_all"]
    length = proof.combine(
        "sum of the lengths", 2 * error + sigma - whole, [(1, split), (1, dissimilar), *((1, step) for step in reaches)]
    )
    # (2 error + sigma)^2 <= 3 sigma^2 + 6 error^2 - 2 (error - sigma)^2
    near = proof.scalar_square("error against sigma_g", error - sigma)
    proof.combine(
        "bound",
        sp.sympify(on_sigma) * sigma**2 + sp.sympify(on_error) * error**2 - square_of(a + b - c),
        [
            (2 * error + sigma + whole, length),
            (1, norm["size_all"]),
            (2, near),
            (sp.sympify(on_sigma) - 3, _squared(proof, sigma)),
            (sp.sympify(on_error) - 6, _squared(proof, error)),
        ],
    )
    return proof


def _squared(proof: Proof, x: Any) -> Step:
    name = f"square of {x}"
    return proof.steps[name] if name in proof.steps else proof.scalar_square(name, x)


def local_drift(constant: Any) -> Proof:
    """mean |w_k - w|^2 <= constant eta^2 E^2 (|grad F(wt)|^2 + sigma_g^2), k <= E, for eta E L <= 1/10.

    Exact gradients at a perturbation that is the same for every step: g_{j+1} <= (1 + eta L) g_j. growth names
    (1 + eta L)^k, which stays below 1/(1 - k eta L).
    """
    proof = Proof("drift of local steps with exact gradients and a constant perturbation")
    L, eta, E = (proof.scalar(name, "positive") for name in ("L", "eta", "E"))
    sigma = proof.scalar("sigma_g")
    G, b = proof.vector("G"), proof.vector("b", mean="")
    first, slope, moved = G + b, proof.vector("g_k"), proof.vector("x_k")
    step, change = proof.vector("s_k"), proof.vector("D", change_along="s_k")
    vectors = {"size_0": first, "size_g": slope, "size_x": moved, "size_s": step, "size_own": -eta * slope}
    vectors |= {"size_D": change, "size_g_next": slope + change, "size_x_next": moved - eta * slope}
    size = {name: proof.scalar(name) for name in vectors}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in vectors.items()}
    zero, g, x = size["size_0"], size["size_g"], size["size_x"]
    same = proof.hypothesis("move", size["size_own"] - size["size_s"], "s_k = -eta g_k, one vector, two names", "==")
    smooth = proof.smooth_gradient("smooth", size["size_D"], size["size_s"], L)
    own = proof.triangle("own move", size["size_own"], [(-eta, g)])
    next_g = proof.triangle("next gradient", size["size_g_next"], [(1, g), (1, size["size_D"])])
    next_x = proof.triangle("next model", size["size_x_next"], [(1, x), (-eta, g)])
    h = eta * L
    grows = proof.combine(
        "gradient grows",
        (1 + h) * g - size["size_g_next"],
        [(1, next_g), (1, smooth), (L, own), (L, same)],
    )
    k, q = proof.scalar("k"), proof.scalar("growth", "positive")
    turn = {k: (0, k + 1), q: (1, q * (1 + h)), g: (zero, size["size_g_next"]), x: (0, size["size_x_next"])}
    found = proof.loop(
        "local steps",
        turn,
        {
            "gradient after k": (q * zero - g, [(1 + h, "gradient after k"), (1, grows)]),
            "model after k": (
                eta * k * q * zero - x,
                [(1, "model after k"), (1, next_x), (eta, "gradient after k"), (eta * h * (k + 1) * q * zero,)],
            ),
            "growth after k": (1 - q * (1 - k * h), [(1, "growth after k"), (q * (k + 1) * h**2,)]),
        },
    )
    end = {key: proof.instance(f"{key}, k = E", entry, {k: E}) for key, entry in found.items()}
    small = proof.hypothesis("eta", R(1, 10) - eta * L * E, "eta <= 1/(10 E L)")
    bounded = proof.combine("growth", R(10, 9) - q, [(R(10, 9), end["growth after k"]), (R(10, 9) * q, small)])
    reach = R(10, 9) * eta * E * zero
    far = proof.combine("model", reach - x, [(1, end["model after k"]), (eta * E * zero, bounded)])
    spread = proof.hypothesis("A2", sigma**2 - square_of(b), "mean |grad F_i - grad F|^2 <= sigma_g^2 at wt")
    centred = proof.averaged("b has mean zero", G, b)
    c = sp.sympify(constant)
    own_norm = proof.square("G", G)
    proof.combine(
        "drift",
        c * eta**2 * E**2 * (square_of(G) + sigma**2) - square_of(moved),
        [
            (reach + x, far),
            (1, norm["size_x"]),
            (-R(100, 81) * eta**2 * E**2, norm["size_0"]),
            (R(100, 81) * eta**2 * E**2, spread),
            (-R(200, 81) * eta**2 * E**2, centred),
            ((c - R(100, 81)) * eta**2 * E**2, own_norm),
            ((c - R(100, 81)) * eta**2 * E**2 * sigma**2,),
        ],
    )
    return proof


def mean_and_noise(on_gradient: Any, on_noise: Any) -> Proof:
    """E|mean_i sum_k g_ik|^2 <= on_gradient K mean_i sum_k E|grad F_i(wt_ik)|^2 + on_noise K s^2/N.

    g_ik = grad F_i(wt_ik) + zeta_ik; zeta_ik is unbiased given the past with E|zeta_ik|^2 <= s^2, independent between
    clients; the gradients may depend on earlier noise.
    """
    proof = Proof("separation of mean and variance")
    K, N, s = proof.scalar("K", "positive"), proof.scalar("N", "positive"), proof.scalar("s")
    slope, noise = proof.vector("g_k"), proof.vector("zeta", time=1, noise=True)
    total, summed = proof.vector("P_k"), proof.vector("Q_k")
    vectors = {"g": slope, "p": total, "p_next": total + slope, "q": summed, "q_next": summed + noise}
    size = {name: proof.scalar(name) for name in vectors}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in vectors.items()}
    g, p, q = size["g"], size["p"], size["q"]
    power = proof.hypothesis("noise", s**2 - square_of(noise), "E|zeta|^2 <= s^2")
    free = proof.unbiased("noise is unbiased", noise, summed)
    grow_q = proof.combine(
        "Q grows",
        q**2 + s**2 - size["q_next"] ** 2,
        [(1, norm["q"]), (-1, norm["q_next"]), (1, power), (-2, free)],
    )
    grow_p = proof.triangle("P grows", size["p_next"], [(1, p), (1, g)])
    k, lengths, squares = (proof.scalar(name) for name in ("k", "C", "S"))
    c = proof.scalar("c", "real")
    near = proof.scalar_square("distance of g from c", g - c)
    turn = {k: (0, k + 1), lengths: (0, lengths + g), squares: (0, squares + g**2)}
    found = proof.loop(
        "local steps",
        {**turn, p: (0, size["p_next"]), q: (0, size["q_next"])},
        {
            "P after k": (lengths - p, [(1, "P after k"), (1, grow_p)]),
            "squares": (squares - 2 * c * lengths + k * c**2, [(1, "squares"), (1, near)]),
            "Q after k": (k * s**2 - q**2, [(1, "Q after k"), (1, grow_q)]),
        },
    )
    end = {key: proof.instance(f"{key}, k = K", entry, {k: K}) for key, entry in found.items()}
    cauchy = proof.instance("Cauchy", end["squares"], {c: lengths / K})
    mean = proof.combine("P^2", K * squares - p**2, [(K, cauchy), (lengths + p, end["P after k"])])
    # the means over clients
    m, own = proof.vector("mean_P", time=1), proof.vector("P", time=1, mean="mean_P")
    n, z = proof.vector("mean_Q", time=1, noise=True), proof.vector("Q", time=1, noise=True, mean="mean_Q")
    name_p = proof.hypothesis("P", square_of(own) - p**2, "P = P_K, one vector, two names", "==")
    name_q = proof.hypothesis("Q", square_of(z) - q**2, "Q = Q_K, one vector, two names", "==")
    average = proof.averaged("mean of P", m, own)
    jensen = proof.square("Jensen", own - m)
    shared = proof.independent("clients are independent", z, N)
    young = proof.square("Young", m - n)
    a, b = sp.sympify(on_gradient), sp.sympify(on_noise)
    proof.combine(
        "bound",
        a * K * squares + b * K * s**2 / N - square_of(m + n),
        [
            (1, young),
            (2, jensen),
            (4, average),
            (-2, name_p),
            (2, mean),
            (2, shared),
            (-2 / N, name_q),
            (2 / N, end["Q after k"]),
            ((a - 2) * K * squares,),
            ((b - 2) * K * s**2 / N,),
        ],
    )
    return proof


def momentum_moment(on_old: Any, on_mean: Any, on_sampling: Any) -> Proof:
    """E|v'|^2 <= on_old |v|^2 + on_mean |mean u|^2 + on_sampling kappa mean |u - mean u|^2, v' = (1 - beta) v + beta d.

    d is the mean over a cohort drawn without replacement, kappa = (N - S)/(S (N - 1)); u_i, the average gradient of
    client i, holds whatever noise there is. on_...: expressions in ``Symbol("beta", positive=True)``.
    """
    proof = Proof("second moment of the momentum")
    beta, kappa = proof.scalar("beta", "positive"), proof.scalar("kappa")
    v, mean = proof.vector("v"), proof.vector("u_mean", time=1)
    u, d = proof.vector("u", time=1, mean="u_mean"), proof.vector("d", time=1, drawn=True)
    share = proof.hypothesis("beta <= 1", 1 - beta, "momentum")
    along = proof.sampled_direction("cohort along v", v, d, u)
    drawn = proof.sampled_square("cohort", d, u, kappa)
    apart = proof.square("v against the mean", v - mean)
    spread = square_of(u) - square_of(mean)
    between = proof.square("u against its mean", u - mean)
    centred = proof.averaged("mean of u", mean, u)
    variance = proof.combine("variance over clients", spread, [(1, between), (2, centred)])
    old, whole = proof.square("old", v), proof.square("mean", mean)
    a, b, c = (sp.sympify(x) for x in (on_old, on_mean, on_sampling))
    proof.combine(
        "second moment",
        a * square_of(v) + b * square_of(mean) + c * kappa * spread - square_of((1 - beta) * v + beta * d),
        [
            (beta, share, apart),
            (-2 * beta * (1 - beta), along),
            (-(beta**2), drawn),
            (sp.expand(a - 1 + beta), old),
            (sp.expand(b - beta), whole),
            (sp.expand(c - beta**2) * kappa, variance),
        ],
    )
    return proof


def update_from_duals(on_update: Any, on_distance: Any, on_radius: Any, on_gradient: Any) -> Proof:
    """(1 - on_update b^2) v <= b^2 (on_distance delta + on_radius r^2) + on_gradient beta^2 |grad f(wbar)|^2.

    b = beta L, v = mean |w_i - wbar|^2 for exact local solves from the duals grad f_i(y_i + s_i), delta = mean |y_i -
    wbar|^2: w_i - wbar = beta (c_i - cbar - h_i - G), c_i and h_i the changes of grad f_i from wbar to y_i + s_i and
    to w_i + s_i', with |s_i|, |s_i'| <= r in the mean square.
    """
    proof = Proof("local update from gradient duals")
    L, beta, r = proof.scalar("L", "positive"), proof.scalar("beta", "positive"), proof.scalar("r")
    b = beta * L
    G, cbar = proof.vector("G"), proof.vector("cbar")
    y, z, x, near = proof.vector("y"), proof.vector("z"), proof.vector("x"), proof.vector("y_i")
    c, h = proof.vector("c", mean="cbar", change_along="y"), proof.vector("h", change_along="z")
    old, new = proof.vector("s_old"), proof.vector("s_new")
    vectors = {"size_y": y, "y_own": near + old, "size_z": z, "z_own": x + new, "size_c": c, "size_h": h}
    vectors |= {"V": x, "V_own": beta * (c - cbar - h - G), "r_old": old, "r_new": new}
    size = {name: proof.scalar(name) for name in vectors}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in vectors.items()}
    V, bound = size["V"], {}
    for key, change, own, part, radius in (
        ("y", "size_c", "y_own", near, "r_old"),
        ("z", "size_h", "z_own", x, "r_new"),
    ):
        short = proof.hypothesis(f"{radius} <= r", r - size[radius], "|s_i| <= r")
        two = proof.hypothesis(f"{key}, one vector", size[own] - size[f"size_{key}"], "two names", "==")
        smooth = proof.smooth_gradient(f"smooth to {key}", size[change], size[f"size_{key}"], L)
        young = proof.square(f"Young in {key}", part - vectors[radius])
        at = size[f"size_{key}"]
        bound[key] = proof.combine(
            f"|{change}|^2",
            2 * L**2 * (square_of(part) + r**2) - square_of(vectors[change]),
            [
                (L * at + size[change], smooth),
                (1, norm[change]),
                (L**2 * (at + size[own]), two),
                (-(L**2), norm[own]),
                (L**2, young),
                (2 * L**2, norm[radius]),
                (2 * L**2 * (r + size[radius]), short),
            ],
        )
    solved = proof.hypothesis("first-order condition", V - size["V_own"], "x_i, one vector, two names", "==")
    average = proof.averaged("mean of c", cbar, c)
    less = proof.square("cbar", cbar)
    A = c - cbar
    pairs = [proof.square(name, u) for name, u in (("A + h", A + h), ("A + G", A + G), ("h - G", h - G))]
    proof.combine(
        "bound",
        (on_distance * square_of(near) + on_radius * r**2) * b**2
        + on_gradient * beta**2 * square_of(G)
        - (1 - on_update * b**2) * V**2,
        [
            *((beta**2, pair) for pair in pairs),
            (3 * beta**2, less),
            (6 * beta**2, average),
            (3 * beta**2, bound["y"]),
            (3 * beta**2, bound["z"]),
            (6 * b**2, norm["V"]),
            (-(V + size["V_own"]), solved),
            (-1, norm["V_own"]),
            ((sp.sympify(on_distance) - 6) * b**2, _square(proof, "y_i", near)),
            ((sp.sympify(on_radius) - 12) * b**2 * r**2,),
            ((sp.sympify(on_gradient) - 3) * beta**2, _square(proof, "G", G)),
            ((sp.sympify(on_update) - 6) * b**2 * V**2,),
        ],
    )
    return proof


def _square(proof: Proof, name: str, u: Vector) -> Step:
    return proof.square(f"square of {name}", u)
