"""``artifact.doctor``: is somebody's sharpness-aware step, or client, the one that it is meant to be?

It observes from outside. The patient trains the doctor's model; hooks see the weights at which it evaluates a loss, and
the batches come from an iterator that sees the weights before and after every step. Beside it runs the engine's method
on the same weights and gradients. What differs is measured, and named where a term of the method explains it.
"""
