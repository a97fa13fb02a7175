#!/usr/bin/env bash
# Tries a package as an operator would: tools/deb/check.sh PACKAGE. It installs the package, starts the service with the
# unit's command as the unit's user, pays, and removes the package. All of that happens in an overlay of the root
# folder in memory, so nothing on the machine changes. It needs root, dpkg and curl; without them it is skipped.
set -euo pipefail

say() { echo "deb: $*"; }
skip() { echo "deb: SKIPPED, $*: the package is not tried"; exit 0; }
fail() { echo "deb: $*" >&2; exit 1; }

# inside runs in a mount namespace of its own.
inside() {
  local package="$1" work=/mnt root=/mnt/root
  mount -t tmpfs tmpfs "$work" || skip "no memory can be mounted here"
  mkdir "$work"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root" 2>/dev/null || skip "no overlay can be mounted here"
  mount -t proc proc "$root/proc" || skip "no /proc can be mounted here"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/run" # where a running systemd would be found
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir "$root/tmp/try"
  cp "$package" "$root/tmp/try/mizan.deb"
  cp "$0" "$root/tmp/try/check.sh"
  chroot "$root" bash /tmp/try/check.sh --installed
}

# want compares the mode and owner of a file.
want() {
  local got
  got="$(stat -c '%a %U:%G' "$1")" || fail "$1 is missing"
  [ "$got" = "$2" ] || fail "$1 is $got, want $2"
}

server=""
finish() { if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi; }

# installed runs in the overlay.
installed() {
  trap finish EXIT
  cd /tmp/try
  if dpkg -s mizan >/dev/null 2>&1; then skip "a package mizan is installed here"; fi
  dpkg -i mizan.deb >install.out 2>&1 || { cat install.out; fail "it can't be installed"; }
  grep -q 'systemctl enable --now mizan' install.out || fail "the installation doesn't say how to start"
  want /usr/bin/mizan "755 root:root"
  want /usr/lib/systemd/system/mizan.service "644 root:root"
  want /etc/mizan "750 root:mizan"
  want /etc/mizan/mizan.toml "644 root:root"
  want /etc/mizan/keyring "600 mizan:mizan"
  want /etc/mizan/admin-token "600 mizan:mizan"
  want /var/lib/mizan "700 mizan:mizan"
  local keyring
  keyring="$(sha256sum /etc/mizan/keyring)"

  sed -i 's/^#sandbox = true/sandbox = true/; s/^listen = .*/listen = "127.0.0.1:0"/' /etc/mizan/mizan.toml
  local command
  command="$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/mizan.service)"
  # shellcheck disable=SC2086 # the command is words
  setpriv --reuid mizan --regid mizan --init-groups --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all \
    --reset-env $command >out 2>err &
  server=$!
  for _ in $(seq 600); do
    grep -q '^mizan: ready at ' out && break
    kill -0 "$server" 2>/dev/null || { cat err; fail "the service ended before it was ready"; }
    sleep 0.1
  done
  grep -q '^mizan: ready at ' out || { cat err; fail "the service was not ready within a minute"; }
  # The first command that the service prints is a payment.
  sed -n '/^  curl /,/^$/p' out | sed '/^$/q' | bash -euo pipefail >pay.out 2>pay.err || { cat pay.err; fail "the payment failed"; }
  grep -q '"status":"charged"' pay.out || { cat pay.out; fail "the payment was not charged"; }
  local address
  address="$(sed -n 's/^mizan: ready at //p' out)"
  mizan admin --url "$address" --token-file /etc/mizan/admin-token --ca-file /var/lib/mizan/tls/ca.pem organizations list >organizations.out ||
    fail "the admin token that the installation made is not valid"
  kill -HUP "$server"
  for _ in $(seq 100); do grep -q 'SIGHUP: configuration' err && break; sleep 0.1; done
  grep -q 'SIGHUP: configuration' err || { cat err; fail "the configuration was not read again"; }
  kill -TERM "$server"
  wait "$server" && code=0 || code=$?
  server=""
  [ "$code" = 0 ] || { cat err; fail "the service stopped with $code"; }
  say "installed, started as user mizan, paid, stopped"

  dpkg -i mizan.deb >again.out 2>&1 || { cat again.out; fail "it can't be installed over itself"; }
  grep -q '^sandbox = true' /etc/mizan/mizan.toml || fail "the upgrade has replaced the configuration"
  dpkg -r mizan >remove.out 2>&1 || { cat remove.out; fail "it can't be removed"; }
  [ ! -e /usr/bin/mizan ] || fail "the program is still there"
  [ -e /etc/mizan/mizan.toml ] || fail "the removal has removed the configuration"
  dpkg -P mizan >purge.out 2>&1 || { cat purge.out; fail "it can't be purged"; }
  [ ! -e /etc/mizan/mizan.toml ] || fail "the configuration is still there"
  [ "$(sha256sum /etc/mizan/keyring)" = "$keyring" ] || fail "the keyring is another one"
  want /etc/mizan/keyring "600 mizan:mizan"
  [ -d /var/lib/mizan/store ] || fail "the data is gone"
  dpkg -i mizan.deb >again.out 2>&1 || { cat again.out; fail "it can't be installed again"; }
  [ "$(sha256sum /etc/mizan/keyring)" = "$keyring" ] || fail "the keyring was replaced"
  say "upgraded, removed and purged: the keyring and the data stay"
}

case "${1:-}" in
--inside) inside "$2"; exit 0 ;;
--installed) installed; exit 0 ;;
esac

package="$(realpath "$1")"
for program in dpkg curl setpriv unshare; do command -v "$program" >/dev/null || skip "no $program here"; done
# The exposure that systemd-analyze computes from the unit alone, at most 3.0 of 10.
if command -v systemd-analyze >/dev/null; then
  unit="$(mktemp -d)"
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$unit" ./usr/lib/systemd/system/mizan.service
  systemd-analyze security --offline=true --threshold=30 "$unit/usr/lib/systemd/system/mizan.service" >"$unit/report" 2>&1 ||
    { cat "$unit/report"; rm -rf "$unit"; fail "the unit is too open"; }
  say "$(tail -1 "$unit/report" | sed 's/^[^A-Za-z]*//')"
  rm -rf "$unit"
else
  say "no systemd-analyze here: the unit's exposure is not computed"
fi
[ "$(id -u)" = 0 ] || skip "only root can install it"
unshare --mount --propagation private "$(realpath "$0")" --inside "$package"
