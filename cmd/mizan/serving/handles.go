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

// How the process shares its file handles. Badger ends the process when it can't open
// its next file, so everything but connections has its handles set aside first.
const (
	minHandles = 1024 // below which the server does not start

	compactionHandles = 400 // tables of 2 MiB that one compaction of level 0 makes (720 MiB at most) before the old ones go, and the other compactor's
	providerHandles   = 192 // calls to providers: 64 at once, each with the sockets of a look-up, and a spare third
	operatorHandles   = 24  // messages to operators: 8 at once, likewise
	metricsHandles    = 32  // connections of the metrics listener
	otherHandles      = 64  // logs, HEAD, backups, files that are read at a start or a signal

	deliveryPart  = 32   // of the limit, one part is for deliveries
	minDeliveries = 32   // notifications under way at once
	maxDeliveries = 1024 // likewise; more would wait for processors
	lookups       = 2    // handles of a delivery: a look-up of a name has two sockets, a connection one

	minConnections = 64     // of clients: a store that leaves less is too large for the limit
	maxConnections = 16_384 // an idle one costs some 40 KiB with TLS

	handleLook = 5 * time.Second // how often handles are counted
)

// handles is how the limit of open files is shared.
type handles struct {
	limit      int
	deliveries int // notifications under way at once
	reserve    int // handles that connections of clients leave free
}

// shareHandles shares a limit. The error is a *fault that says what is wrong with it.
func shareHandles(limit uint64) (handles, error) {
	if limit < minHandles {
		return handles{}, cli.BadConfiguration(fmt.Sprintf("open files: the limit is %d, and at least %d are needed; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)", limit, minHandles))
	}
	h := handles{limit: int(min(limit, 1<<30))}
	h.deliveries = min(max(h.limit/deliveryPart, minDeliveries), maxDeliveries)
	h.reserve = compactionHandles + providerHandles + operatorHandles + metricsHandles + otherHandles + lookups*h.deliveries
	return h, nil
}

// connections is how many clients may be connected while so many other handles are
// open.
func (h *handles) connections(others int) int {
	return min(h.limit-h.reserve-others, maxConnections)
}

// raiseHandles raises the soft limit of open files to the hard one, and is the limit
// then.
func raiseHandles() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	if limit.Cur < limit.Max {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // if not, it is as good as it was
			limit = raised
		}
	}
	return limit.Cur, nil
}

// openHandles is how many handles the process has open. Not ok: this system does not
// tell.
func openHandles() (n int, ok bool) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	return len(names) - 1, err == nil // the directory's own
}

// perAddress is how many of so many connections one address may have: the rest is for
// others, also where nobody's connection can be closed.
func perAddress(total int) int { return total - total/4 }

// shareOpenFiles finds out how many files may be open, before anything is opened.
func (s *server) shareOpenFiles(context.Context) error {
	limit, err := raiseHandles()
	if err != nil {
		return cli.BadConfiguration("open files: " + err.Error())
	}
	s.handles, err = shareHandles(limit)
	return err
}

// limitConnections opens the gate before the listeners, when the store is open. It is
// how many connections there is room for.
func (s *server) limitConnections() (int, error) {
	s.gate = connlimit.NewGate(connlimit.Options{Total: maxConnections, Trusted: s.cfg.Proxies, Log: s.log})
	k := &handleKeeper{handles: s.handles, gate: s.gate, log: s.log, short: rate.Sometimes{Interval: time.Minute}}
	room := k.look()
	if room < minConnections {
		return 0, cli.BadConfiguration(fmt.Sprintf("open files: the limit of %d leaves room for %d connections beside this store, and at least %d are wanted; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)",
			s.handles.limit, max(room, 0), minConnections))
	}
	looks, stop := time.NewTicker(handleLook), make(chan struct{})
	s.onClose(func() error {
		looks.Stop()
		close(stop)
		return nil
	})
	go k.keep(looks.C, stop)
	return room, nil
}

// handleKeeper bounds a gate by the handles that are left.
type handleKeeper struct {
	handles handles
	gate    *connlimit.Gate
	log     *slog.Logger
	short   rate.Sometimes
}

// look counts handles and moves the gate's bound. It is how many connections there
// would be room for, which may be too few.
func (k *handleKeeper) look() int {
	if limit, err := raiseHandles(); err == nil { // somebody may have changed it
		k.handles.limit = int(min(limit, 1<<30))
	}
	open, ok := openHandles()
	if !ok {
		open = k.gate.Open() + otherHandles
	}
	room := k.handles.connections(open - k.gate.Open())
	if room < minConnections {
		k.short.Do(func() {
			k.log.Warn("the limit of open files is too low for this store: few connections are taken", "limit", k.handles.limit, "open", open, "connections", max(room, 1))
		})
	}
	k.gate.Bound(max(room, minConnections/2), perAddress(max(room, minConnections/2)))
	return room
}

// keep looks from time to time until stop is closed.
func (k *handleKeeper) keep(looks <-chan time.Time, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-looks:
			k.look()
		}
	}
}
