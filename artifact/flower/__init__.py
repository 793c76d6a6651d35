"""The methods as strategies of Flower: ``FedSAM``, ``FedSMOO``, ``FedLESAM``, ``Strategy``, ``client_app``.

They need the extra ``flower``; docs/yours.md says how to install it beside the rest.
"""

from __future__ import annotations

from typing import Any

from artifact.base.errors import UserError

__all__ = ["FedLESAM", "FedSAM", "FedSMOO", "Strategy", "client_app"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        from artifact.flower import apps
    except ModuleNotFoundError as error:
        if error.name != "flwr":
            raise
        allowed = "an environment that has it, see 'In Flower' in docs/yours.md"
        raise UserError("flwr", "not installed", allowed) from None
    return getattr(apps, name)
