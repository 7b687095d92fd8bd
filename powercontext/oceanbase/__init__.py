"""Django database backend for OceanBase, and for MySQL and MariaDB as they are."""
