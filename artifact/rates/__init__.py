"""What does a proved theorem promise for given numbers? Bounds on a method's mean squared gradient, term by term."""

from artifact.rates.bound import BUDGETS, METHODS, Rate, Setting, rate

__all__ = ["BUDGETS", "METHODS", "Rate", "Setting", "rate"]
