"""Metadata of an archive in Croissant 1.0, JSON-LD that data tools read: what each file and each column holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from artifact import __version__
from artifact.base.cache import cache
from artifact.base.docstrings import described
from artifact.base.errors import UserError
from artifact.base.files import read_file, write_atomic
from artifact.runs import columns
from artifact.runs.seal import parsed
from artifact.runs.store import digest
from artifact.training.config import RunConfig

FILE = "croissant.json"
PARQUET = "application/vnd.apache.parquet"

#: column, or a pattern for its whole name -> what it holds
DESCRIPTIONS = {
    "key": "Name of the run: hash of its settings, its data and the version of the numbers.",
    "completed": "Rounds that were run; fewer than `rounds` where the run diverged.",
    "seal": "SHA-256 of the run's digests, by which a change of any of them is noticed.",
    "other": "JSON of entries that no column holds, and of settings that are null.",
    "parameters": "Parameters of the network.",
    "added": "Hashes of files of one's own that define method, network or data set.",
    "command": "Command line that makes the run again.",
    "data_fingerprint": "SHA-256 of the data.",
    "partition_fingerprint": "SHA-256 of which client holds which sample.",
    "backend_used": "How gradients were computed.",
    "device_used": "Kind of processor that computed them.",
    r"hyper\.(?P<name>\w+)": "Hyper-parameter {name} of the method; empty for a method without it.",
    r"digest\.(?P<name>\w+)": "SHA-256 of the run's {name} as it was stored.",
    r"environment\.(?P<name>\w+)": "The run was made with this {name}.",
    r"curvature\.top_eigenvalue\.(?P<name>\w+)": "Largest Hessian eigenvalue of the last model: {name}.",
    r"curvature\.trace\.(?P<name>\w+)": "Trace of the Hessian of the last model: {name}.",
    "curvature.data": "Training images on which curvature was measured.",
    "curvature.seal": "SHA-256 of the curvature entries.",
    r"curvature\.(?P<name>\w+)": "Of the measurement of curvature: {name}.",
    "round.round": "Number of the round, from 1.",
    "round.seconds": "Seconds that the round took, evaluation included.",
    "round.cohort": "Clients that took part.",
    "round.lr": "Step size of the local steps.",
    "round.update_norm": "L2 norm of the change of the server's model.",
    "round.diverged": "True in the last round of a run whose numbers were finite no more.",
    "round.other": "JSON of entries of the round that no column holds.",
    "round.cost.up": "Models that a client sent to the server.",
    "round.cost.down": "Models that the server sent to a client.",
    "round.cost.client_memory": "Models that a client keeps from round to round.",
    "round.cost.full_passes": "Gradients over all data of a client.",
    "round.cost.gradients_per_step": "Gradients in a local step.",
    r"round\.(?P<group>server|active|all|train)\.accuracy": "Share of images that {who} classifies right.",
    r"round\.(?P<group>server|active|all|train)\.loss": "Mean cross-entropy of {who}.",
    r"round\.(?P<group>server|active|all|train)\.client_mean": "Mean over clients of the accuracy of {who}.",
    r"round\.(?P<group>server|active|all|train)\.client_min": "Least accuracy of {who} on the data of a client.",
    r"round\.(?P<group>server|active|all|train)\.client_sd": "Deviation over clients of the accuracy of {who}.",
    r"round\.(?P<group>\w+)\.(?P<name>\w+)": "Probe {group}: {name}; `artifact/training/probes.py` defines it.",
}
#: evaluated model as a description names it
WHO = {
    "server": "the server's model on the test images",
    "active": "the mean of the active clients' models on the test images",
    "all": "the mean of all clients' last models on the test images",
    "train": "the server's model on the training images",
}


def description(column: str) -> str:
    """What a column holds, in a sentence."""
    for pattern, sentence in DESCRIPTIONS.items():
        found = re.fullmatch(pattern, column)
        if found is not None:
            named = found.groupdict()
            words = {name: word.replace("_", " ") for name, word in named.items()}
            return sentence.format(**words, who=WHO.get(named.get("group", ""), ""))
    text = described(RunConfig).get(column, "")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def digests(folder: Path) -> Mapping[str, str]:
    """File of an archive -> SHA-256 that the metadata has of it; empty where there are none that can be read."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        return _digests(read_file(path))
    except UserError:
        return {}


@cache
def _digests(data: bytes) -> Mapping[str, str]:
    try:
        entries = parsed(data)["distribution"]
        return {entry["name"]: entry["sha256"] for entry in entries if "sha256" in entry}
    except (ValueError, LookupError, TypeError):
        return {}


def write(folder: Path) -> None:
    """Write the metadata of the files in a folder as they are now; remove them where there is none."""
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        (folder / FILE).unlink(missing_ok=True)
        return
    write_atomic(folder / FILE, json.dumps(_document(paths), indent=1) + "\n")


def _document(paths: list[Path]) -> dict[str, Any]:
    pl = columns.library()
    types: dict[str, Any] = {}
    for path in paths:
        types |= {name: kind for name, kind in pl.read_parquet_schema(path).items() if name not in types}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "fedsharp-runs",
        "description": (
            "Training runs of sharpness-aware federated learning: one row a run, one file for each table or figure"
            " that asked for it first. An empty cell is an entry that a run does not have; NaN is a number that was"
            " not finite, or a setting that is off."
        ),
        "license": "https://spdx.org/licenses/MIT",
        "version": __version__,
        "distribution": [*map(_file, paths), _FILES],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "runs",
                "name": "runs",
                "key": {"@id": "runs/key"},
                "description": "One run a row. Columns named round.* are lists with an entry for each round.",
                "field": [_field(name, types[name]) for name in types],
            }
        ],
    }


def _file(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "contentSize": f"{len(data)} B",
        "encodingFormat": PARQUET,
        "sha256": digest(data),
    }


def _field(name: str, kind: Any) -> dict[str, Any]:
    pl = columns.library()
    repeated = isinstance(kind, pl.List)
    own = kind.inner if repeated else kind
    names = {pl.Boolean: "sc:Boolean", pl.Int64: "sc:Integer", pl.Float64: "sc:Float", pl.String: "sc:Text"}
    return {
        "@type": "cr:Field",
        "@id": f"runs/{name}",
        "name": name,
        "description": description(name),
        "dataType": next(word for one, word in names.items() if own == one),
        **({"repeated": True} if repeated else {}),
        "source": {"fileSet": {"@id": "parquet"}, "extract": {"column": name}},
    }


_FILES = {
    "@type": "cr:FileSet",
    "@id": "parquet",
    "name": "parquet",
    "description": "All files; each stands alone, and none has a column of another meaning.",
    "encodingFormat": PARQUET,
    "includes": "*.parquet",
}
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
