#!/bin/sh
# Fails if a file has trailing white space or no newline at its end.
status=0
for file in "$@"; do
    if grep -nE '[[:blank:]]+$' "$file" | sed "s|^|$file:|" | grep .; then status=1; fi
    if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
        echo "$file: no newline at the end"
        status=1
    fi
done
exit $status
