"""fedsharp: the training core and what serves it."""

from artifact.accelerate.allocator import keep_freed_memory, let_idle_threads_sleep

__version__ = "0.1.0"

#: Part of every run's key. Raised only when a change may alter numbers.
NUMBERS = 1

keep_freed_memory()
let_idle_threads_sleep()
