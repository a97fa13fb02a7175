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

// notifySupervisor reports the state of the service to systemd, as units with Type=notify require. If the environment variable
// NOTIFY_SOCKET is not set, notifySupervisor does nothing.
func (p *process) notifySupervisor(state ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(state, "\n")); err != nil {
		p.log.Warn("the supervisor can't be notified", "state", state[0], "error", err)
	}
}

// reloadStart returns the line that tells systemd when a reload begins. For units with Type=notify-reload, systemd compares
// this time with the time at which it has sent the signal.
func reloadStart() string {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only if the kernel does not have this clock
	return fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000)
}
