"""The papers' tables and figures: declared as cells, looked up among finished runs, compared, rendered, drawn."""
