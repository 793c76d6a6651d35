"""Client state that takes memory only for the clients that have been written.

A method keeps one row [P] per client and touches a cohort's rows in a round. With 100 clients and ResNet-18 one dense
matrix of them is 4.5 GB; with 10,000 clients even a small model's is gigabytes, nearly all of it never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from artifact.base.lazy import Tensor, torch

#: numbers in one block of columns where all rows are needed at once
_BLOCK = 1 << 24


class ClientRows:
    """The state of all m clients, a row [P] each; clients that were never written share one default row.

    Reads like a matrix in a method's equations: ``X[clients]`` gathers [S, P], ``X[clients] = V`` writes rows [S, P],
    or one row [P] that the clients then share.
    """

    def __init__(self, clients: int, default: Tensor):
        """clients: m.  default: [P], the row of a client that was never written."""
        self.shape = (clients, len(default))
        self.default = default
        self._rows: dict[int, Tensor] = {}
        self._private: set[int] = set()  # clients whose row nobody else holds, so that it is written in place

    @property
    def written(self) -> tuple[int, ...]:
        """Clients with a row of their own, in ascending order."""
        return tuple(sorted(self._rows))

    def row(self, client: int) -> Tensor:
        """One client's row [P], which callers read and do not change."""
        return self._rows.get(client, self.default)

    def __getitem__(self, clients: Tensor | Sequence[int] | int) -> Tensor:
        """[S, P] rows of S clients, or [P] of one."""
        if isinstance(clients, int):
            return self.row(clients).clone()
        return torch.stack([self.row(i) for i in (clients.tolist() if torch.is_tensor(clients) else clients)])

    def __setitem__(self, clients: Tensor, values: Tensor) -> None:
        """values: [S, P], or [P] for all of the clients."""
        members = clients.tolist()
        if values.dim() == 1:
            self._rows.update(dict.fromkeys(members, values.clone()))
            self._private.difference_update(members)
            return
        for client, value in zip(members, values, strict=True):
            if client in self._private:
                self._rows[client].copy_(value)
            else:
                self._rows[client] = value.clone()
        self._private.update(members)

    def blocks(self) -> Iterable[Tensor]:
        """Dense blocks of columns [m, p] whose widths add up to P."""
        clients, P = self.shape
        width = max(1, _BLOCK // clients)
        for start in range(0, P, width):
            part = slice(start, start + width)
            default = self.default[part]
            yield torch.stack([self._rows[i][part] if i in self._rows else default for i in range(clients)])

    def dense(self) -> Tensor:
        """The whole matrix [m, P]."""
        return self[torch.arange(self.shape[0])]

    def mean(self, dim: int = 0) -> Tensor:
        """Mean [P] of the rows of all m clients (``dim`` is 0)."""
        if dim != 0:
            raise ValueError(f"dim {dim}: rows are averaged over clients, dim 0")
        return torch.cat([block.mean(0) for block in self.blocks()])

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """weights [m] -> [P], sum of weights_i * row_i over all clients."""
        return torch.cat([weights @ block for block in self.blocks()])

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint holds: ``index`` [m] and the distinct rows by the first client that has each.

        index: number of the row of each client, -1 for the default.
        """
        index, rows = torch.full((self.shape[0],), -1), {}
        first: dict[int, int] = {}
        for client in self.written:
            row = self._rows[client]
            index[client] = number = first.setdefault(id(row), client)
            rows[f"row.{number}"] = row
        return {"index": index} | rows

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Inverse of ``tensors``; rows are taken over as they are, to be read only.

        Raises ValueError for tensors of another number of clients or with rows of another length.
        """
        index = tensors["index"].tolist() if "index" in tensors else []
        if len(index) != self.shape[0]:
            raise ValueError(f"an index of {len(index)} clients, not {self.shape[0]}")
        rows: dict[int, Tensor] = {}
        for client, number in enumerate(index):
            if number >= 0:
                row = tensors.get(f"row.{number}")
                if row is None or row.shape != self.default.shape or row.dtype != self.default.dtype:
                    raise ValueError(f"no row of {self.shape[1]} numbers for client {client}")
                rows[client] = row
        self._private.clear()
        self._rows = rows


def pack(entries: Mapping[str, Tensor | ClientRows]) -> dict[str, Tensor]:
    """Plain tensors of a mixed dict; client rows become ``NAME.index`` and ``NAME.row.i``."""
    packed: dict[str, Tensor] = {}
    for name, value in entries.items():
        if isinstance(value, ClientRows):
            packed |= {f"{name}.{part}": tensor for part, tensor in value.tensors().items()}
        else:
            packed[name] = value
    return packed


def unpack(tensors: Mapping[str, Tensor], rows: Mapping[str, ClientRows]) -> dict[str, Tensor | ClientRows]:
    """Read what ``pack`` wrote back into the client rows that have the names.

    Raises ValueError for client rows that are incomplete or of another size.
    """
    rest = dict(tensors)
    for name, target in rows.items():
        own = {key: rest.pop(key) for key in tensors if key.startswith(f"{name}.")}
        target.load({key.removeprefix(f"{name}."): tensor for key, tensor in own.items()})
    return rest | dict(rows)
