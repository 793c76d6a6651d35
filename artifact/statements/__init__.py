"""What a claim says of numbers that share seeds: predicates, their comparisons, contrasts and error rates."""
