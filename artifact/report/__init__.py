"""The report: a static site from the claims ledger, the stored evidence and the runs (``artifact report``)."""
