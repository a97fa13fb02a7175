#!/bin/sh
# Keeps the keyring, the token and the data, even if the package is purged: nothing could bring them back.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	echo "mizan: /etc/mizan/keyring, /etc/mizan/admin-token, /var/lib/mizan and user mizan stay: remove them yourself if the ledger is no longer needed"
fi
