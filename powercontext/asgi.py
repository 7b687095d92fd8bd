"""ASGI entry point, for hosts that prefer it; the views are synchronous."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "powercontext.settings")

application = get_asgi_application()
