package serving

import (
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// States of the service, in the words of sd_notify(3).
const (
	supervisorReady     = "READY=1"
	supervisorReloading = "RELOADING=1"
	supervisorStopping  = "STOPPING=1"
)

// notifySupervisor tells systemd the state of the service, which units with Type=notify require. Without a supervisor
// that has set NOTIFY_SOCKET it does nothing.
func (s *server) notifySupervisor(state ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(state, "\n")); err != nil {
		s.log.Warn("the supervisor can't be notified", "state", state[0], "error", err)
	}
}

// reloadStart returns the time at which a reload begins. Units with Type=notify-reload compare it with the time at which
// systemd has sent the signal.
func reloadStart() string {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only for a clock that the kernel lacks
	return fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000)
}
