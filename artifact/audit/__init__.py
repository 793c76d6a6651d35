"""A paper of one's own: a folder with its claims, tables, experiments, method and statements, checked and reported."""
