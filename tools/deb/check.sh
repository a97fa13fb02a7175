#!/usr/bin/env bash
# Tries a package as an operator would: tools/deb/check.sh PACKAGE. It installs the package, starts the service with the
# unit's command as the unit's user, pays, and removes the package. All of that happens in an overlay of the root
# folder in memory, so nothing on the machine changes. It needs root, dpkg and curl; without them it is skipped. With
# strace it also tries that the service needs no system call that the unit forbids.
set -euo pipefail

inside=/srv # the folder in which the package is tried; it is empty in memory, and only for the trial

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
  mkdir -p "$root$inside"
  mount -t tmpfs tmpfs "$root$inside"
  cp "$package" "$root$inside/mizan.deb"
  cp "$0" "$root$inside/check.sh"
  chroot "$root" bash "$inside/check.sh" --installed
}

# want compares the mode and owner of a file.
want() {
  local got
  got="$(stat -c '%a %U:%G' "$1")" || fail "$1 is missing"
  [ "$got" = "$2" ] || fail "$1 is $got, want $2"
}

# members lists the system calls of sets that systemd knows; a name without @ is a call itself.
members() {
  local name
  for name in "$@"; do
    case "$name" in
    @*) members $(systemd-analyze syscall-filter "$name" | sed -n '/^    [@a-z]/p') ;;
    *) echo "$name" ;;
    esac
  done
}

# permitted lists the system calls that a unit permits: each SystemCallFilter= adds to the earlier ones, or with ~ removes.
permitted() {
  local words calls=""
  while read -r words; do
    case "$words" in
    "~"*) calls="$(members ${words#"~"} | sort -u | comm -23 <(echo "$calls") -)" ;;
    *) calls="$({ echo "$calls"; members $words; } | sort -u)" ;;
    esac
  done < <(sed -n 's/^SystemCallFilter=//p' "$1")
  echo "$calls"
}

server=""
finish() { if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi; }

# completions tries the package's completion in each shell that is here. Bash asks the program as COMP_LINE does.
completions() {
  bash -c 'source /usr/share/bash-completion/completions/mizan && complete -p mizan' | grep -- "-C '*/usr/bin/mizan'* mizan\$" >/dev/null || fail "bash doesn't complete"
  [ "$(COMP_LINE="mizan ledger tr" mizan)" = trial-balance ] || fail "the program doesn't complete"
  if command -v fish >/dev/null; then
    HOME="$inside" fish -c 'complete -C "mizan ledger tr"' | grep '^trial-balance' >/dev/null || fail "fish doesn't complete"
  else
    say "no fish here: completion in fish is not tried"
  fi
  if command -v zsh >/dev/null; then
    timeout 60 zsh -fc "$zsh_completes" | grep trial-balance >/dev/null || fail "zsh doesn't complete"
  else
    say "no zsh here: completion in zsh is not tried"
  fi
}

# Completion in zsh needs a terminal, which zsh makes itself.
# shellcheck disable=SC2016 # zsh expands it
zsh_completes='zmodload zsh/zpty; zpty z zsh -fi; zpty -w z "autoload -U compinit; compinit -u -D"; zpty -w -n z $'"'mizan ledger tr\t'"'; zpty -r -m z text "*trial-balance*"; print -r -- $text'

# installed runs in the overlay.
installed() {
  trap finish EXIT
  cd "$inside"
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
  local secrets
  secrets="$(sha256sum /etc/mizan/keyring /etc/mizan/admin-token)"
  zcat /usr/share/man/man1/mizan.1.gz | grep '^\.TH MIZAN 1 ' >/dev/null || fail "there is no manual page"
  completions

  sed -i 's/^#sandbox = true/sandbox = true/; s/^listen = .*/listen = "127.0.0.1:0"/' /etc/mizan/mizan.toml
  local command watch=""
  command="$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/mizan.service)"
  if command -v strace >/dev/null && command -v systemd-analyze >/dev/null; then
    install -o mizan -m 0600 /dev/null forbidden # one line for each call that the unit would refuse
    watch="strace -D -f --seccomp-bpf -qqq -e signal=none -o $inside/forbidden -e trace=!$(permitted /usr/lib/systemd/system/mizan.service | sed 's/^/?/' | paste -sd,)"
  else
    say "no strace or systemd-analyze here: the unit's filter of system calls is not tried"
  fi
  # shellcheck disable=SC2086 # the commands are words
  setpriv --reuid mizan --regid mizan --init-groups --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all \
    --reset-env $watch $command >out 2>err &
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
  [ ! -s forbidden ] || { head forbidden; fail "the service makes system calls that its unit forbids"; }
  say "installed, started as user mizan, paid, stopped"

  dpkg -i mizan.deb >again.out 2>&1 || { cat again.out; fail "it can't be installed over itself"; }
  grep -q '^sandbox = true' /etc/mizan/mizan.toml || fail "the upgrade has replaced the configuration"
  dpkg -r mizan >remove.out 2>&1 || { cat remove.out; fail "it can't be removed"; }
  [ ! -e /usr/bin/mizan ] || fail "the program is still there"
  [ -e /etc/mizan/mizan.toml ] || fail "the removal has removed the configuration"
  dpkg -P mizan >purge.out 2>&1 || { cat purge.out; fail "it can't be purged"; }
  [ ! -e /etc/mizan/mizan.toml ] || fail "the configuration is still there"
  [ "$(sha256sum /etc/mizan/keyring /etc/mizan/admin-token)" = "$secrets" ] || fail "the keyring or the token is another one"
  want /etc/mizan/keyring "600 mizan:mizan"
  [ -d /var/lib/mizan/store ] || fail "the data is gone"
  dpkg -i mizan.deb >again.out 2>&1 || { cat again.out; fail "it can't be installed again"; }
  [ "$(sha256sum /etc/mizan/keyring /etc/mizan/admin-token)" = "$secrets" ] || fail "the keyring or the token was replaced"
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
