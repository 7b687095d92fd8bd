"""The Context Inspector: pages that explain a prepared context. Stores nothing."""
