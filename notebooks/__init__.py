"""One notebook per section of a paper, what their cells call, and ``python -m notebooks``, which executes them."""
