"""Lexical search: terms, ranking and snippets (pure), index and lookup (database)."""
