#!/bin/sh
# Makes the user that the service runs as.
set -e
if ! getent group mizan >/dev/null; then
	groupadd --system mizan
fi
if ! getent passwd mizan >/dev/null; then
	useradd --system --gid mizan --home-dir /var/lib/mizan --no-create-home --shell /usr/sbin/nologin --comment "Mizan" mizan
fi
