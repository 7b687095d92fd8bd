#!/bin/sh
# `make run`: migrate, load the demo once, serve, and show one prepared context.
set -eu
cd "$(dirname "$0")/.."
port=${1:-8000}
manage=".venv/bin/python manage.py"
url="http://127.0.0.1:$port"

$manage migrate --verbosity 0
$manage load_context --if-missing prepare/fixtures/demo.jsonl

$manage serve --port "$port" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
trap 'exit 0' INT TERM

.venv/bin/python tools/show.py "$url" "$server" || { echo "The server did not answer on $url." >&2; exit 1; }
wait "$server"
