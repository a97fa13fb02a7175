#!/bin/sh
# Makes what a first start needs. What is there already is never replaced: the store of another keyring is lost.
set -e
[ "$1" = configure ] || exit 0

chown root:mizan /etc/mizan
chmod 0750 /etc/mizan
install -d -o mizan -g mizan -m 0700 /var/lib/mizan

if [ ! -e /etc/mizan/keyring ]; then
	/usr/bin/mizan keyring /etc/mizan/keyring
fi
if [ ! -e /etc/mizan/admin-token ]; then
	umask 077
	printf 'mza_%s\n' "$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" >/etc/mizan/.admin-token
	mv /etc/mizan/.admin-token /etc/mizan/admin-token
fi
chown mizan:mizan /etc/mizan/keyring /etc/mizan/admin-token
chmod 0600 /etc/mizan/keyring /etc/mizan/admin-token

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# After an upgrade the new program takes over from a running one. A first installation starts nothing.
	if [ -n "$2" ]; then
		systemctl try-restart mizan.service ||
			echo "mizan: the service did not start again: see journalctl -u mizan and /usr/share/doc/mizan/upgrading.md" >&2
	fi
fi
if [ -z "$2" ]; then
	cat <<'TEXT'
mizan: made /etc/mizan/keyring and /etc/mizan/admin-token, which only root and user mizan can read.
  Copy the keyring to another machine: without it neither the data nor a backup can be read.
  Look at /etc/mizan/mizan.toml, then: systemctl enable --now mizan
TEXT
fi
