"""What do runs say of each claim? ``decide`` is where a verdict falls."""
