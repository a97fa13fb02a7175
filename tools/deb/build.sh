#!/bin/sh
# Builds the Debian package of a binary that is built already: tools/deb/build.sh BINARY FOLDER. It runs the binary, so it
# builds the package of this machine's architecture. It needs Go, git and gzip, and no tools of Debian.
set -eu
cd "$(dirname "$0")/../.."

# A release is tagged v1.2.3 and gives version 1.2.3; five commits later it is 1.2.3+5.gabcdef0. Without a tag the
# version is 0~TIME.COMMIT: later commits are newer, and every release is newer than them.
if version="$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)"; then
	version="$(printf '%s' "${version#v}" | sed 's/-/+/; s/-/./g')"
else
	version="0~$(git log -1 --format=%cd --date=format:%Y%m%d%H%M%S).$(git describe --always --dirty | tr - +)"
fi

# The newest of the C library's interfaces that the binary uses; nothing for a static one.
libc="$(grep -ao 'GLIBC_2\.[0-9]*' "$1" | sed 's/GLIBC_//' | sort -uV | tail -1)"

# The same commit gives the same package, so the manual page has the commit's date instead of today's.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
made="$(mktemp -d)"
trap 'rm -rf "$made"' EXIT
"$1" man >"$made/page"
sed "1s/\"[0-9-]*\"/\"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)\"/" "$made/page" | gzip -9n >"$made/mizan.1.gz"

DEB_VERSION="$version" DEB_ARCH="$(${GO:-go} env GOARCH)" DEB_BINARY="$1" DEB_LIBC="${libc:-2}" DEB_MANUAL="$made/mizan.1.gz" \
	${GO:-go} tool -modfile=tools/go.mod nfpm package --config tools/deb/nfpm.yaml --packager deb --target "$2"
