"""Services: one verb each, keyword-only, values in and values out."""
