"""A second implementation of ``replay``: NumPy only, hand-written back-propagation, one client after the other.

It imports nothing from the package and is written from the equations of the papers (``Paper``) and of the released
codes (``Released``: FL-Simulator @502bec6, the FedLESAM repository @d6663cc, fedMAN @d38a10e), so that an error would
have to be made twice to stay unseen. Case files are those of tests/vectors/FORMAT.md.
"""

from __future__ import annotations

import json
import math

import numpy as np

#: method -> (what the local step and the server are built on, where the gradient is taken)
METHODS = {
    "fedavg": ("average", "none"),
    "fedprox": ("prox", "none"),
    "fedadam": ("adam", "none"),
    "scaffold": ("scaffold", "none"),
    "feddyn": ("dual", "none"),
    "feddc": ("drift", "none"),
    "fedcm": ("momentum", "none"),
    "mimelite": ("mime", "none"),
    "fedrobust": ("robust", "none"),
    "fedspeed": ("speed", "sam"),
    "fedsam": ("average", "sam"),
    "fedasam": ("average", "asam"),
    "mofedsam": ("momentum", "sam"),
    "fedgamma": ("scaffold", "sam"),
    "feddyn-sam": ("dual", "sam"),
    "fedsmoo": ("dual", "smoo"),
    "fedsmoo-admm": ("dual", "admm"),
    "fedlesam": ("average", "lesam"),
    "fedlesam-s": ("scaffold", "lesam"),
    "fedlesam-d": ("dual", "lesam"),
    "globalfedsam": ("global", "ratio"),
    "globalfedsam-norm": ("global", "ratio"),
}


def unit(v, stabiliser=0.0):
    length = math.sqrt(float(v @ v)) + stabiliser
    return v / length if length > 0 else np.zeros_like(v)


class Simulation:
    """Data, model and round loop that both forms share; arrays: the fields of a case file."""

    def __init__(self, arrays):
        self.meta = json.loads(str(arrays["meta"]))
        self.hp, self.shapes = self.meta["hp"], self.meta["param_shapes"]
        self.X, self.y = np.asarray(arrays["X"]), np.asarray(arrays["y"])
        self.sizes = [int(n) for n in arrays["sizes"]]
        self.first_row = [sum(self.sizes[:i]) for i in range(len(self.sizes))]
        self.active_lists = [[i for i, on in enumerate(row) if on] for row in arrays["active_mask"]]
        self.batch, self.epochs, self.m = self.meta["batch"], self.meta["epochs"], len(self.sizes)
        name, _, man = self.meta["algo"].lower().replace("_", "-").partition("+")
        self.name, self.man = name, man == "man"
        self.base, self.ascent = METHODS[name]
        self.w = np.array(arrays["w0"], dtype=float)
        P = len(self.w)
        self.last = np.tile(self.w, (self.m, 1))
        self.own = {key: np.zeros((self.m, P)) for key in ("h", "lambda_i", "mu", "c_i", "g_i")}
        self.server = {key: np.zeros(P) for key in ("lambda", "s", "c", "g", "momentum", "adam_m", "adam_v", "q")}
        self.old = {}  # FedLESAM: model that a client last received
        self.Lambda = np.tile(np.eye(self.X.shape[1]), (self.m, 1, 1))
        self.delta = np.zeros((self.m, self.X.shape[1]))
        self.traces = {}

    def run(self):
        """{trace: array with the round as leading axis}."""
        for t, active in enumerate(self.active_lists):
            self.t, self.active, self.eta = t, active, self.hp["lr"] * self.hp["lr_decay"] ** t
            self.open_round()
            models = {i: self.train(i) for i in active}
            for i in active:
                self.last[i] = models[i]
            for name, value in self.close_round(models).items():
                self.traces.setdefault(name, []).append(np.array(value, dtype=float))
        return {name: np.stack(values) for name, values in self.traces.items()}

    def open_round(self):
        pass

    def blocks(self, i, steps):
        """Rows of X per local step: in order, short last block, from the start again when the data are used up."""
        start, N = self.first_row[i], self.sizes[i]
        epoch = [np.arange(start + b, start + min(b + self.batch, N)) for b in range(0, N, self.batch)]
        return [epoch[k % len(epoch)] for k in range(steps)]

    def own_steps(self, i):
        return self.epochs * math.ceil(self.sizes[i] / self.batch)

    def tensors(self, w):
        parts, start = [], 0
        for shape in self.shapes:
            n = math.prod(shape)
            parts.append(w[start : start + n].reshape(shape))
            start += n
        return parts

    def differentiate(self, w, x, y):
        """(gradient in w [P], gradient in every input row [B, D]) of cross-entropy plus the activation penalty."""
        W1, b1, W2, b2 = self.tensors(w)
        before = x @ W1.T + b1
        hidden = np.where(before > 0, before, 0.0)
        logits = hidden @ W2.T + b2
        share = np.exp(logits - logits.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        share[np.arange(len(y)), y] -= 1.0
        d_logits = share / len(y)
        d_hidden = d_logits @ W2 + self.zeta * 2.0 * hidden / hidden.size
        d_before = np.where(before > 0, d_hidden, 0.0)
        flat = [d_before.T @ x, d_before.sum(0), d_logits.T @ hidden, d_logits.sum(0)]
        return np.concatenate([part.ravel() for part in flat]), d_before @ W1

    def gradient(self, w, rows):
        return self.differentiate(w, self.X[rows], self.y[rows])[0]

    def asam_scale(self, w):
        """|w| + eta on weights, 1 on biases."""
        parts = []
        for name, tensor in zip(self.meta["param_names"], self.tensors(w), strict=True):
            parts.append(np.abs(tensor) + self.hp["eta_asam"] if "weight" in name else np.ones(tensor.shape))
        return np.concatenate([part.ravel() for part in parts])

    def everybody(self, values):
        """[m, ...] with zero rows for inactive clients."""
        whole = np.zeros((self.m, *np.shape(next(iter(values.values())))))
        for i, value in values.items():
            whole[i] = value
        return whole


class Paper(Simulation):
    """The papers' methods with their slips repaired: no clipping, no stabilisers, true numbers of steps."""

    def __init__(self, arrays):
        super().__init__(arrays)
        self.zeta = self.hp["mu_mean"] if self.man else 0.0
        self.lam = self.hp["alpha_coef"] if self.base == "drift" else self.hp["lamb"]

    def open_round(self):
        self.start = {key: np.copy(value) for key, value in self.server.items()}
        if self.base in ("global", "mime"):
            rows = {i: np.arange(self.first_row[i], self.first_row[i] + self.sizes[i]) for i in self.active}
            self.full = {i: self.gradient(self.w, rows[i]) for i in self.active}
        if self.base == "global":
            total = sum(self.sizes[i] for i in self.active)
            self.p = {i: self.sizes[i] / total for i in self.active}
            norms = {i: np.linalg.norm(self.full[i]) for i in self.active}
            gbar = sum(self.p[i] * self.full[i] for i in self.active)
            self.r = {i: sum(self.p[j] * (self.full[j] @ self.full[i]) for j in self.active) / norms[i] for i in norms}
            if self.name.endswith("norm"):
                self.r = {i: r / np.linalg.norm(gbar) for i, r in self.r.items()}

    def train(self, i):
        if self.base == "robust":
            return self.train_against_shift(i)
        w, sent, wd, e = self.w.copy(), self.w, self.hp["weight_decay"], None
        for rows in self.blocks(i, self.own_steps(i)):
            e = self.perturbation(i, w, rows)
            g = self.gradient(w + e, rows)
            if self.base == "speed":
                g = (1 - self.hp["alpha"]) * self.gradient(w, rows) + self.hp["alpha"] * g
            w = w - self.eta * (self.direction(i, w, sent, g) + wd * w)
        if self.ascent == "admm":
            self.own["mu"][i] = self.own["mu"][i] + e - self.start["s"]
        self.last_e = {**getattr(self, "last_e", {}), i: e}
        return w

    def perturbation(self, i, w, rows):
        rho, mu, s = self.hp["rho"], self.own["mu"], self.start["s"]
        if self.ascent == "none":
            return np.zeros_like(w)
        if self.ascent == "lesam":
            return rho * unit(self.old[i] - self.w) if i in self.old else np.zeros_like(w)
        g = self.gradient(w, rows)
        if self.ascent == "asam":
            T = self.asam_scale(w)
            return rho * T * T * g / np.linalg.norm(T * g)
        if self.ascent == "smoo":
            e = rho * unit(g - mu[i] - s)
            mu[i] = mu[i] + e - s
            return e
        if self.ascent == "admm":
            return rho * unit(g - mu[i] + s)
        return rho * (self.r[i] if self.ascent == "ratio" else 1.0) * unit(g)

    def direction(self, i, w, sent, g):
        if self.base == "prox":
            return g + self.lam * (w - sent)
        if self.base in ("dual", "speed"):
            return g - self.own["lambda_i"][i] + self.lam * (w - sent)
        if self.base == "drift":
            own = self.own
            return g + self.lam * (own["h"][i] + w - sent) + self.start["g"] - own["g_i"][i]
        if self.base == "scaffold":
            return g + self.start["c"] - self.own["c_i"][i]
        if self.base in ("momentum", "mime"):
            return self.hp["alpha"] * g + (1 - self.hp["alpha"]) * self.start["momentum"]
        return g

    def train_against_shift(self, i):
        w, eta2, weight = self.w.copy(), self.hp["eta2"], self.hp["lambda_robust"]
        for rows in self.blocks(i, self.own_steps(i)):
            x, L, b = self.X[rows], self.Lambda[i].copy(), self.delta[i].copy()
            g, g_x = self.differentiate(w, x @ L.T + b, self.y[rows])
            self.Lambda[i] = L + eta2 * (g_x.T @ x - 2 * weight * (L - np.eye(len(L))))
            self.delta[i] = b + eta2 * (g_x.sum(0) - 2 * weight * b)
            w = w - self.eta * (g + self.hp["weight_decay"] * w)
        return w

    def close_round(self, models):
        sent, n, own, server = self.w, len(models), self.own, self.server
        Delta = {i: models[i] - sent for i in models}
        mean = sum(models.values()) / n
        self.w = sent + self.hp["global_lr"] * (mean - sent)
        traces = {"local_params": self.everybody(models)}
        if self.base == "adam":
            self.w = sent + self.adam(mean - sent)
        elif self.base in ("mime", "robust"):
            self.w = mean
        elif self.base == "global":
            self.w = sum(self.p[i] * models[i] for i in models)
            traces |= {"r_k": self.everybody(self.r), "full_grad": self.everybody(self.full)}
        elif self.base in ("dual", "speed"):
            self.w = self.close_dual(models, Delta)
        elif self.base == "drift":
            self.w = self.close_drift(models, Delta)
        elif self.base == "scaffold":
            for i in models:
                new = own["c_i"][i] - self.start["c"] - Delta[i] / (self.own_steps(i) * self.eta)
                server["c"] = server["c"] + (new - own["c_i"][i]) / self.m
                own["c_i"][i] = new
        if self.base == "momentum":
            server["momentum"] = -sum(Delta[i] / (self.own_steps(i) * self.eta) for i in models) / n
        if self.base == "mime":
            a = self.hp["alpha"]
            server["momentum"] = a * sum(self.full.values()) / n + (1 - a) * server["momentum"]
        if self.ascent == "lesam":
            self.old |= {i: sent.copy() for i in models}
        return traces | self.state_traces()

    def adam(self, update):
        hp, server = self.hp, self.server
        server["adam_m"] = hp["beta1"] * server["adam_m"] + (1 - hp["beta1"]) * update
        server["adam_v"] = hp["beta2"] * server["adam_v"] + (1 - hp["beta2"]) * update**2
        return hp["global_lr"] * server["adam_m"] / (np.sqrt(server["adam_v"]) + hp["epsilon"])

    def close_dual(self, models, Delta):
        own, server, n = self.own, self.server, len(models)
        for i in models:
            own["lambda_i"][i] = own["lambda_i"][i] - self.lam * Delta[i]
        if self.base == "speed":
            return sum(models[i] - own["lambda_i"][i] / self.lam for i in models) / n
        server["lambda"] = own["lambda_i"].mean(0)
        if self.ascent in ("smoo", "admm"):
            sign = -1 if self.ascent == "smoo" else 1
            server["s"] = self.hp["rho"] * unit(sum(own["mu"][i] + sign * self.last_e[i] for i in models) / n)
        return sum(models.values()) / n - server["lambda"] / self.lam

    def close_drift(self, models, Delta):
        own, server = self.own, self.server
        for i in models:
            own["h"][i] = own["h"][i] + Delta[i]
            new = own["g_i"][i] - self.start["g"] - Delta[i] / (self.own_steps(i) * self.eta)
            server["g"] = server["g"] + (new - own["g_i"][i]) / self.m
            own["g_i"][i] = new
        return sum(models[i] + own["h"][i] for i in models) / len(models)

    def state_traces(self):
        own, server = self.own, self.server
        by_base = {
            "dual": {"lambda_i": own["lambda_i"], "lambda": server["lambda"]},
            "speed": {"lambda_i": own["lambda_i"]},
            "drift": {"h": own["h"], "g_i": own["g_i"], "g": server["g"]},
            "scaffold": {"c_i": own["c_i"], "c": server["c"]},
            "momentum": {"momentum": server["momentum"]},
            "mime": {"momentum": server["momentum"]},
            "adam": {"adam_m": server["adam_m"], "adam_v": server["adam_v"]},
            "robust": {"Lambda": self.Lambda, "delta": self.delta},
        }
        duals = {"mu": own["mu"], "s": server["s"]} if self.ascent in ("smoo", "admm") else {}
        return {"server_params": self.w} | by_base.get(self.base, {}) | duals


class Released(Simulation):
    """What the published codes compute; ``clipped`` counts the local steps in which the clip was active."""

    def __init__(self, arrays):
        super().__init__(arrays)
        self.zeta = self.hp["mu_mean"] / 2 if self.man else 0.0
        self.fedman = "fedMAN" in self.meta["source"]
        self.lesam_repository = "/FedLESAM@" in self.meta["source"]
        self.base = "dual" if self.base == "speed" else self.base
        self.clipped = 0

    def size_ratio(self, i):
        """N / (m N_i) in fedMAN, which knows client sizes; 1 elsewhere."""
        return sum(self.sizes) / (self.m * self.sizes[i]) if self.fedman else 1.0

    def common_steps(self):
        """The number of steps that variates and momentum divide by."""
        if self.fedman:
            return self.epochs * math.ceil(sum(self.sizes) / self.m / self.batch)
        return self.epochs * self.sizes[0] / self.batch

    def open_round(self):
        self.start = {key: np.copy(value) for key, value in self.server.items()}

    def clip(self, v):
        length = np.linalg.norm(v)
        self.clipped += length > self.hp["max_norm"]
        return v * min(1.0, self.hp["max_norm"] / (length + 1e-6))

    def train(self, i):
        steps = self.common_steps() if self.fedman and self.base == "scaffold" else self.own_steps(i)
        w, self.applied = self.w.copy(), np.zeros_like(self.w)
        for rows in self.blocks(i, steps):
            g = self.gradient(w + self.perturbation(i, w, rows), rows)
            self.applied = self.clip(self.linear(i, w, g))
            w = w - self.eta * (self.applied + self.omega(i) * w)
        return w

    def perturbation(self, i, w, rows):
        rho, s, mu = self.hp["rho"], self.start["s"], self.own["mu"]
        if self.ascent == "none":
            return np.zeros_like(w)
        if self.ascent == "lesam":
            return self.scalar_per_tensor()
        g = self.gradient(w, rows)
        if self.ascent == "asam":
            T = self.asam_scale(w)
            return rho * T * T * g / (np.linalg.norm(T * g) + 1e-16)
        if self.ascent == "smoo":
            e = rho * unit(g - mu[i] - s, 1e-7)
            mu[i] = mu[i] + e - s
            return e
        if self.fedman and self.name == "fedspeed":
            return rho * unit(g + self.applied, 1e-7)
        if self.fedman:
            return rho * unit(self.clip(g), 1e-16)
        return rho * unit(g, 1e-7)

    def scalar_per_tensor(self):
        """Tensor j moves by one scalar, made of ENTRY j of the last global update; q is zero in round 0."""
        q = self.start["q"]
        entries = [q[j] for j in range(len(self.shapes))]
        total = sum(abs(entry) for entry in entries) + 1e-7
        return np.concatenate(
            [np.full(math.prod(s), -self.hp["rho"] * e / total) for s, e in zip(self.shapes, entries, strict=True)]
        )

    def linear(self, i, w, g):
        """What is clipped: gradient and linear correction; in fedMAN's FedProx and FedDC the w-part, too."""
        hp, own, start = self.hp, self.own, self.start
        if self.base == "prox":
            return g + hp["lamb"] * (w - self.w) if self.fedman else g - hp["lamb"] * self.w
        if self.base == "dual":
            return g + self.penalty(i) * (own["h"][i] - self.w)
        if self.base == "drift":
            return g + self.penalty(i) * (w - self.w + own["h"][i]) + start["g"] * self.size_ratio(i) - own["g_i"][i]
        if self.base == "scaffold":
            factor = hp["lamb"] if self.name == "fedlesam-s" else 1.0
            return g + factor * (start["c"] * self.size_ratio(i) - own["c_i"][i])
        if self.base == "momentum":
            weight = 1.0 if self.lesam_repository and self.ascent == "sam" else hp["alpha"]
            return weight * g + (1 - hp["alpha"]) * start["momentum"]
        return g

    def penalty(self, i):
        return self.hp["alpha_coef"] * self.size_ratio(i) if self.fedman else self.hp["lamb"]

    def omega(self, i):
        extra = {"dual": self.penalty(i), "prox": 0.0 if self.fedman else self.hp["lamb"]}
        return self.hp["weight_decay"] + extra.get(self.base, 0.0)

    def close_round(self, models):
        sent, own, server = self.w, self.own, self.server
        Delta = {i: models[i] - sent for i in models}
        mean = sum(models.values()) / len(models)
        for i in models:
            own["h"][i] = own["h"][i] + Delta[i]
        self.close_variates(Delta)
        total = sum(self.sizes[i] for i in models)
        weighted = sum(self.sizes[i] * models[i] for i in models) / total
        uniform = self.base in ("dual", "drift", "scaffold")
        if self.base in ("dual", "drift"):
            self.w = mean + own["h"].mean(0)
        elif self.fedman:
            self.w = mean if uniform else weighted
        elif self.base == "adam":
            self.w = sent + Paper.adam(self, mean - sent)
        else:
            self.w = sent + self.hp["global_lr"] * (mean - sent)
        if self.ascent == "smoo":
            server["s"] = self.hp["rho"] * unit(sum(own["mu"][i] for i in models) / len(models), 1e-7)
        if self.base == "momentum":
            server["momentum"] = -(mean - sent) / (self.common_steps() * self.eta)
        server["q"] = self.w - sent
        return self.released_traces(mean if uniform else weighted, uniform)

    def close_variates(self, Delta):
        """c_i, c of SCAFFOLD or g_i, g of FedDC; fedMAN divides by the rate of round 0 and weights by size."""
        names = {"scaffold": ("c_i", "c"), "drift": ("g_i", "g")}.get(self.base)
        if names is None:
            return
        own, sent = self.own[names[0]], self.start[names[1]]
        scaled = self.fedman and self.base == "drift"  # FedDC subtracts the size-scaled variate, SCAFFOLD the plain one
        eta = self.hp["lr"] if self.fedman else self.eta
        for i in Delta:
            new = own[i] - sent * (self.size_ratio(i) if scaled else 1.0) - Delta[i] / (self.common_steps() * eta)
            weight = 1.0 / (self.size_ratio(i) * self.m)
            self.server[names[1]] = self.server[names[1]] + weight * (new - own[i])
            own[i] = new

    def released_traces(self, active_mean, uniform):
        own, server = self.own, self.server
        by_base = {
            "dual": {"h": own["h"]},
            "drift": {"h": own["h"], "g_i": own["g_i"], "g": server["g"]},
            "scaffold": {"c_i": own["c_i"], "c": server["c"]},
            "momentum": {"momentum_used": self.start["momentum"]},
            "adam": {"adam_m": server["adam_m"], "adam_v": server["adam_v"]},
        }
        traces = {"server_params": self.w, "client_params": self.last} | by_base.get(self.base, {})
        if self.ascent == "smoo":
            traces |= {"mu": own["mu"], "s": server["s"]}
        if self.ascent == "lesam":
            traces["global_update"] = server["q"]
        if not self.fedman:
            return traces | {"lr_used": self.eta}
        weights = np.ones(self.m) if uniform else np.array(self.sizes)
        return traces | {"avg_active": active_mean, "avg_all": weights @ self.last / weights.sum()}
