"""An operator at the admin."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.admin.pages import Browser


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("olga", password=None)


@pytest.fixture
def admin(operator: User) -> Browser:
    """A superuser's browser; CSRF is checked as for everyone."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    return Browser(client)


@pytest.fixture
def staff(db: None):
    """Makes a browser of a staff user with exactly these permissions."""

    def make(*codenames: str) -> Browser:
        user = User.objects.create_user(f"staff-{User.objects.count()}", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        assert user.user_permissions.count() == len(codenames)
        client = Client()
        client.force_login(user)
        return Browser(client)

    return make
