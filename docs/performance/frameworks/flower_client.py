"""Flower's client side: an importable module, so that what a Ray worker has loaded stays loaded between rounds."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from shared import Work, load
from torch import nn

app = ClientApp()


@cache
def prepared() -> tuple[Work, torch.Tensor, nn.Module, bool]:
    """Work, images and model of this process; one core per client."""
    tuned = os.environ["FRAMEWORKS_TUNED"] == "1"
    torch.set_num_threads(int(os.environ["FRAMEWORKS_THREADS"]))
    work = Work.read(Path(os.environ["FRAMEWORKS_WORK"]))
    return work, work.images(tuned), work.network(tuned), tuned


@app.train()
def train(message: Message, context: Context) -> Message:
    """All local steps of the client that has the asked place in the round's cohort."""
    work, images, network, tuned = prepared()
    t, slot = message.content["config"]["round"], message.content["config"]["place"]
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    load(network, torch.from_numpy(weights))
    optimiser = work.optimiser(network.parameters(), tuned)
    for batch in work.batches[t, slot]:
        optimiser.zero_grad()
        F.cross_entropy(network(images[batch]), work.y[batch]).backward()
        optimiser.step()
    steps = len(work.batches[t, slot])
    with torch.no_grad():
        trained = torch.cat([p.reshape(-1) for p in network.parameters()]).numpy()
    metrics = MetricRecord({"num-examples": steps * work.batches.shape[3], "steps": steps})
    content = RecordDict({"arrays": ArrayRecord([trained]), "metrics": metrics})
    return Message(content, reply_to=message)
