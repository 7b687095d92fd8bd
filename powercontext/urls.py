"""All routes of the product; errors outside views use the standard envelope."""

from django.contrib import admin
from django.urls import include, path

handler400 = "prepare.handlers.bad_request"
handler403 = "prepare.handlers.permission_denied"
handler404 = "prepare.handlers.not_found"
handler500 = "prepare.handlers.server_error"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("prepare.urls")),
]
