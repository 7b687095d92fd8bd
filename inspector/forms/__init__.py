"""What people type or upload, checked. Nothing of it is stored."""
