"""What the server of workers imports first: the driver's folder of temporary files ends with the server.

The server ends when its driver is no more, however that ended; a driver that was killed can remove nothing.
"""

from __future__ import annotations

import atexit
import os
import shutil

from artifact.runs.processes import SCRATCH

if scratch := os.environ.pop(SCRATCH, None):
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
