"""``./reproduce.sh``: the steps of a replication, run side by side, and gone on with where they were stopped."""
