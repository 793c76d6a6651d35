"""What the stored runs say of the ledger's claims: predicates, hypotheses, arithmetic, evidence, verdicts, pages."""
