"""Training a network of one's own on data of one's own, by the engine that trains the papers' tables."""
