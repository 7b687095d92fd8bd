"""Who looks at a page: a person's own roles, as for a token (contract B.4)."""

from django.conf import settings
from django.http import HttpRequest

from prepare.services.access import LOCAL, Principal


def principal_of(request: HttpRequest) -> Principal | None:
    """The signed-in person, or None. In access mode `disabled` the API answers every
    local caller, so its pages do (J-12). A superuser has no roles by that alone."""
    if settings.ACCESS_MODE == "disabled":
        return LOCAL
    user = request.user
    if user.pk is None or not user.is_active:
        return None
    return Principal(name=user.get_username(), person_id=user.pk)
