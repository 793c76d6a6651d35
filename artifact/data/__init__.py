"""Datasets, client partitions, augmentation."""

from artifact.data.dataset import Dataset
from artifact.data.partition import Partition, partition
from artifact.data.sources import DATASETS, fetch, import_npz, load, status

__all__ = ["DATASETS", "Dataset", "Partition", "fetch", "import_npz", "load", "partition", "status"]
