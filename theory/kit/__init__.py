"""What the checks of all papers share: the verdict record, function classes, searches, exact replay."""
