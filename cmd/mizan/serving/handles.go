package serving

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"mizan/api/connlimit"
	"mizan/cmd/mizan/cli"
)

// Shares of the process's file handles. Badger, the embedded store, ends the process if it can't
// open its next file. So handles are reserved for all uses but clients' connections, which get the rest.
const (
	minHandles = 1024 // with fewer the server does not start

	compactionHandles = 400 // compacting level 0 makes up to 360 tables of 2 MiB before it deletes the old ones; the rest is for the second compactor
	providerHandles   = 192 // calls to providers: 64 at once, each with the two sockets of a look-up, and 64 handles in reserve
	operatorHandles   = 24  // messages to operators: 8 at once, each with two sockets, and 8 handles in reserve
	metricsHandles    = 32  // connections of the metrics listener
	otherHandles      = 64  // logs, backups, files that are read at a start or after a signal

	deliveryShare   = 32   // deliveries get 1/32 of the limit
	minDeliveries   = 32   // notifications under way at once
	maxDeliveries   = 1024 // notifications under way at once; more would only wait for processors
	deliveryHandles = 2    // handles of a delivery: the look-up of a name needs two sockets at once, the connection after it one

	minConnections = 64     // clients' connections; a limit of open files that leaves fewer is too low
	maxConnections = 16_384 // an idle connection with TLS takes about 40 KiB

	handleCheckInterval = 5 * time.Second // how often handles are counted
)

// handles says how the limit of open files is divided.
type handles struct {
	limit      int
	deliveries int // notifications under way at once
	reserve    int // handles that connections of clients leave free
}

// shareHandles divides a limit of open files. The error is a *cli.Fault that says what is wrong with
// the limit.
func shareHandles(limit uint64) (handles, error) {
	if limit < minHandles {
		return handles{}, cli.BadConfiguration(fmt.Sprintf("open files: the limit is %d, and at least %d are needed; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)", limit, minHandles))
	}
	h := handles{limit: int(min(limit, 1<<30))}
	h.deliveries = min(max(h.limit/deliveryShare, minDeliveries), maxDeliveries)
	h.reserve = compactionHandles + providerHandles + operatorHandles + metricsHandles + otherHandles + deliveryHandles*h.deliveries
	return h, nil
}

// connections returns how many clients may be connected while otherOpen handles are open for other uses.
func (h *handles) connections(otherOpen int) int {
	return min(h.limit-h.reserve-otherOpen, maxConnections)
}

// raiseHandleLimit raises the soft limit of open files to the hard one and returns the limit.
func raiseHandleLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	if limit.Cur < limit.Max {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // if it fails the old limit stays
			limit = raised
		}
	}
	return limit.Cur, nil
}

// countOpenHandles counts the handles that the process has open; ok is false if the system does
// not list them.
func countOpenHandles() (n int, ok bool) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	return len(names) - 1, err == nil // not counting the handle of this directory itself
}

// maxPerAddress returns how many connections one address may have if all addresses together may have total.
// The rest is for other addresses, even if no connection can be closed.
func maxPerAddress(total int) int { return total - total/4 }

// shareOpenFiles reads the limit of open files and divides it, before anything is opened.
func (s *server) shareOpenFiles(context.Context) error {
	limit, err := raiseHandleLimit()
	if err != nil {
		return cli.BadConfiguration("open files: " + err.Error())
	}
	s.handles, err = shareHandles(limit)
	return err
}

// limitConnections creates the gate that bounds clients' connections, and returns how many connections
// the gate may admit. It runs after the store is open and before the listeners are.
func (s *server) limitConnections() (int, error) {
	s.gate = connlimit.NewGate(connlimit.Options{Total: maxConnections, Trusted: s.cfg.Proxies, Log: s.log})
	keeper := &handleKeeper{handles: s.handles, gate: s.gate, log: s.log, warnings: rate.Sometimes{Interval: time.Minute}}
	room := keeper.adjust()
	if room < minConnections {
		return 0, cli.BadConfiguration(fmt.Sprintf("open files: the limit of %d leaves room for %d connections beside this store, and at least %d are wanted; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)",
			s.handles.limit, max(room, 0), minConnections))
	}
	ticks, stop := time.NewTicker(handleCheckInterval), make(chan struct{})
	s.onClose(func() error {
		ticks.Stop()
		close(stop)
		return nil
	})
	go keeper.run(ticks.C, stop)
	return room, nil
}

// handleKeeper adjusts the bound of the gate to the number of free handles.
type handleKeeper struct {
	handles  handles
	gate     *connlimit.Gate
	log      *slog.Logger
	warnings rate.Sometimes // bounds how often the log warns that few connections are possible
}

// adjust counts handles, adjusts the gate's bound, and returns the number of possible connections, which
// may be less than minConnections.
func (k *handleKeeper) adjust() int {
	if limit, err := raiseHandleLimit(); err == nil { // the limit may have changed
		k.handles.limit = int(min(limit, 1<<30))
	}
	open, ok := countOpenHandles()
	if !ok {
		open = k.gate.Open() + otherHandles
	}
	room := k.handles.connections(open - k.gate.Open())
	if room < minConnections {
		k.warnings.Do(func() {
			k.log.Warn("the limit of open files is too low for this store: few connections are taken", "limit", k.handles.limit, "open", open, "connections", max(room, 1))
		})
	}
	k.gate.Bound(max(room, minConnections/2), maxPerAddress(max(room, minConnections/2)))
	return room
}

// run adjusts the bound at each tick until stop is closed.
func (k *handleKeeper) run(ticks <-chan time.Time, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-ticks:
			k.adjust()
		}
	}
}
