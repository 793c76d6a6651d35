"""What the files of a record may hold; every reader of a store checks against these. Other entries are let pass."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, create_model

from artifact.training.config import Measured, RunConfig

Whole = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Number = Whole | Real
Count = Annotated[int, Field(strict=True, ge=1, lt=2**63)]
Index = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
#: default of an entry that may be left out and may not be null
_MISSING: Any = None
#: models whose tests a metrics line may hold
EVALUATED = ("server", "active", "all", "train")
#: backends of stored runs that no longer train
FORMER_BACKENDS = ("fourier", "tiles")


class Cost(BaseModel):
    """What a round cost, in models or gradients.  up, down: sent per client."""

    up: Number
    down: Number
    client_memory: Number
    full_passes: Number
    gradients_per_step: Number


class Tested(BaseModel):
    """Test results of one evaluated model.

    loss: null where it is not finite.  client_mean, client_min, client_sd: of the accuracy on the clients' data.
    """

    accuracy: Number
    loss: Number | None = None
    client_mean: Number = _MISSING
    client_min: Number = _MISSING
    client_sd: Number = _MISSING


class Seconds(BaseModel):
    """A line of ``timings.jsonl``."""

    round: Count
    seconds: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class Value(BaseModel):
    value: Number


class Curvature(BaseModel):
    """``curvature.json``.  data: training images that it was measured on."""

    data: Count
    top_eigenvalue: Value = _MISSING
    trace: Value = _MISSING


class Done(BaseModel):
    """``done``, the last file that a run writes.  parts: name of a file, or ``model``, and its SHA-256."""

    rounds: Index
    parts: dict[str, str]


def _model(name: str, required: dict[str, Any], others: dict[str, Any]) -> type[BaseModel]:
    """A model with entries that have to be there, and others that may be left out."""
    fields: dict[str, Any] = {entry: (kind, _MISSING) for entry, kind in others.items()}
    return create_model(name, **fields | {entry: (kind, ...) for entry, kind in required.items()})


#: a line of ``metrics.jsonl``
Round = _model(
    "Round",
    {"round": Count, "cohort": Index, "cost": Cost},
    dict.fromkeys(get_args(Measured), dict[str, Any])
    | dict.fromkeys(EVALUATED, Tested)
    | {"lr": Number, "update_norm": Number | None, "diverged": Annotated[bool, Field(strict=True)]},
)
#: ``config.json``: the settings of a run, where they are not at their default, and what is known of its data
Config = _model(
    "Config",
    {"algorithm": str, "parameters": Count, "data_fingerprint": str},
    {name: Annotated[field.annotation, name, *field.metadata] for name, field in RunConfig.model_fields.items()}
    | {"backend": RunConfig.model_fields["backend"].annotation | Literal[*FORMER_BACKENDS]},
)
