"""What takes minutes of a processor and guards what quicker tests guard in part: it waits for the night."""

from __future__ import annotations

import os

import pytest

#: FEDSHARP_NIGHTLY=1 plays everything
NIGHTLY = bool(os.environ.get("FEDSHARP_NIGHTLY"))
nightly = pytest.mark.skipif(not NIGHTLY, reason="it takes minutes; FEDSHARP_NIGHTLY=1 plays it")
