"""One theorem on FedAvg with inexact local gradients, its proof, its corollaries, runs and exact worst cases."""
