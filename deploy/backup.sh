#!/bin/bash
# Writes one encrypted backup of the database and removes the oldest: backup.sh FOLDER
#
# FOLDER/key.asc is the public key of whoever may read the backups (gpg --armor --export NAME); nothing here can.
# PGHOST, PGUSER, PGDATABASE and PGPASSWORD (or POSTGRES_PASSWORD_FILE) say which database; KEEP, how many backups stay.
set -euo pipefail
umask 077
folder=$1
keep=${KEEP:-14}
if ! [[ $keep =~ ^[1-9][0-9]*$ ]]; then
    echo "KEEP=$keep is not a whole number from 1 on. No backup was made." >&2
    exit 1
fi
file=$folder/fieldstudy-$(date -u +%Y%m%dT%H%M%S.%NZ).dump.gpg
home=$(mktemp -d)
trap 'rm -rf "$home" "$file.part"' EXIT
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export PGPASSWORD
fi
pg_dump --format custom \
    | gpg --batch --quiet --homedir "$home" --trust-model always --recipient-file "$folder/key.asc" --encrypt > "$file.part"
mv "$file.part" "$file"
echo "$file: $(stat --format %s "$file") bytes"
find "$folder" -maxdepth 1 -name 'fieldstudy-*.dump.gpg' | sort | head -n "-$keep" | xargs --no-run-if-empty rm --
find "$folder" -maxdepth 1 -name 'fieldstudy-*.dump.gpg.part' -mmin +1440 -delete # what a killed one has left
