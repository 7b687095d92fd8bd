"""The API app: recall, packing, rendering, exact reads."""
