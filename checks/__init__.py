"""The runner that turns the claims ledger into verdicts: ``python -m checks``."""
