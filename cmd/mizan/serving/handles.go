package serving

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"mizan/api"
	"mizan/api/connlimit"
	"mizan/cmd/mizan/cli"
)

// These constants divide the file handles that the process may open. Badger, the embedded store, ends the process if it can't
// open its next file. So handles are reserved for everything except client connections, which get the rest.
const (
	minHandles = 1024 // minimum limit of open files; with a lower limit the server does not start

	compactionHandles = 400 // for the store: a compaction of level 0 writes up to 360 tables of 2 MiB before it deletes the old tables; the other 40 handles are for the second compactor
	providerHandles   = 192 // for calls to providers: 64 calls at once, each with the two sockets of a DNS look-up, and 64 handles in reserve
	operatorHandles   = 24  // for messages to operators: 8 messages at once, each with two sockets, and 8 handles in reserve
	metricsHandles    = 32  // for connections to the metrics listener
	shardHandles      = 32  // for Raft's log and Raft's connections of a shard
	otherHandles      = 64  // for logs, backups, and files that are read at a start or after a signal

	deliveryShare   = 32   // the number of notifications that may be sent at once is 1/32 of the limit
	minDeliveries   = 32   // minimum number of notifications that may be sent at once
	maxDeliveries   = 1024 // maximum number of notifications that are sent at once; more would only wait for processors
	deliveryHandles = 2    // handles for one delivery: a DNS look-up needs two sockets at once, and the connection after it needs one

	minConnections = 64     // the limit of open files must allow at least this number of client connections
	maxConnections = 16_384 // maximum number of client connections; an idle connection with TLS takes about 40 KiB of memory

	handleCheckInterval = 5 * time.Second // how often open handles are counted
)

// handles says how the limit of open files is divided.
type handles struct {
	limit      int
	deliveries int // maximum number of notifications that are sent at once
	reserve    int // handles that client connections must leave free
}

// shareHandles divides a limit of open files. If the limit is too low, the error is a *cli.Fault.
func shareHandles(limit uint64) (handles, error) {
	if limit < minHandles {
		return handles{}, cli.BadConfiguration(fmt.Sprintf("open files: the limit is %d, and at least %d are needed; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)", limit, minHandles))
	}
	h := handles{limit: int(min(limit, 1<<30))}
	h.deliveries = min(max(h.limit/deliveryShare, minDeliveries), maxDeliveries)
	h.reserve = compactionHandles + providerHandles + operatorHandles + metricsHandles + otherHandles + deliveryHandles*h.deliveries
	return h, nil
}

// connections returns how many clients may be connected at once. otherOpen is the number of open handles that are not clients'
// connections.
func (h *handles) connections(otherOpen int) int {
	return min(h.limit-h.reserve-otherOpen, maxConnections)
}

// raiseHandleLimit raises the soft limit of open files to the hard limit and returns the resulting limit.
func raiseHandleLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	if limit.Cur < limit.Max {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // if this fails, the old limit stays in force
			limit = raised
		}
	}
	return limit.Cur, nil
}

// countOpenHandles counts the process's open handles. If the system does not list them, ok is false.
func countOpenHandles() (n int, ok bool) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	return len(names) - 1, err == nil // the list includes the handle of the directory itself
}

// maxPerAddress returns the maximum number of connections from one IP address, where total is the maximum from all addresses
// together. The rest is reserved for other addresses.
func maxPerAddress(total int) int { return total - total/4 }

// shareOpenFiles raises and divides the limit of open files. It runs before anything is opened.
func (p *process) shareOpenFiles(context.Context) error {
	limit, err := raiseHandleLimit()
	if err != nil {
		return cli.BadConfiguration("open files: " + err.Error())
	}
	if p.handles, err = shareHandles(limit); err != nil {
		return err
	}
	if c := &p.cfg.Cluster; c.Node != "" {
		// Each further store compacts by itself. Forwarded requests need a handle on both nodes.
		p.handles.reserve += c.Shards*(compactionHandles+shardHandles) + 2*(maxPeerConns+api.MaxQuestionConns)*(len(c.Peers)-1)
	}
	return nil
}

// limitConnections creates the gate that limits the number of client connections, and returns that limit. It runs after the
// store is opened and before the listeners are opened.
func (p *process) limitConnections() (int, error) {
	p.gate = connlimit.NewGate(connlimit.Options{Total: maxConnections, Trusted: p.cfg.Proxies, Log: p.log})
	keeper := &handleKeeper{handles: p.handles, gate: p.gate, log: p.log, warnings: rate.Sometimes{Interval: time.Minute}}
	room := keeper.adjust()
	if room < minConnections {
		return 0, cli.BadConfiguration(fmt.Sprintf("open files: the limit of %d leaves room for %d connections beside this store, and at least %d are wanted; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)",
			p.handles.limit, max(room, 0), minConnections))
	}
	ticks, stop := time.NewTicker(handleCheckInterval), make(chan struct{})
	p.onClose(func() error {
		ticks.Stop()
		close(stop)
		return nil
	})
	go keeper.run(ticks.C, stop)
	return room, nil
}

// handleKeeper adjusts the gate's limit on connections to the number of free handles.
type handleKeeper struct {
	handles  handles
	gate     *connlimit.Gate
	log      *slog.Logger
	warnings rate.Sometimes // limits how often the log warns that only few connections are possible
}

// adjust counts the open handles, adjusts the gate's limit, and returns the number of possible connections. The number may be
// less than minConnections.
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

// run adjusts the limit at each tick until stop is closed.
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
