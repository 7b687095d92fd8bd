"""Commands of `manage.py`, and what they share."""
