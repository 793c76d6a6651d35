"""Which shortcut gives the same gradients sooner?"""
