"""Independent, naive reference implementation used to check the product."""
