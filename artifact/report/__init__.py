"""The report: a static site from the claims ledger, the stored evidence and the runs (``fedsharp report``)."""

#: file of a report's folder that says what it was made from
MARK = "report.json"
#: profiles whose numbers stand beside the papers'; the quick one tests the program and has a page of its own
SHOWN = ("laptop", "paper")
