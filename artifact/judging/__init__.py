"""What the stored runs say of the ledger's claims: predicates, tests of hypotheses, arithmetic, evidence, verdicts, pages."""
