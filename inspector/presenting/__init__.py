"""Values of services as values of pages. Pure: no request, no database."""
