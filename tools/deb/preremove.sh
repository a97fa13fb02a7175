#!/bin/sh
# Stops the service before its program is removed. An upgrade leaves it running until the new program is there.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now mizan.service
fi
