"""Wire shapes: declared once for checking input and for the OpenAPI document."""
