"""Words of pages that pure modules choose: marked here, translated by the template."""


def N_(message: str) -> str:
    """Mark a text for the catalogue; `{% translate value %}` turns it around."""
    return message
