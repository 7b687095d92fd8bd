"""The server behind a reverse proxy."""
