"""All routes of the product; errors outside views use the standard envelope."""

from django.contrib import admin
from django.urls import include, path

handler400 = "inspector.errorpages.bad_request"
handler403 = "inspector.errorpages.permission_denied"
handler404 = "inspector.errorpages.not_found"
handler500 = "inspector.errorpages.server_error"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("inspector.urls")),
    path("", include("prepare.urls")),  # ends with a route for every other path
]
