package simulation

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"mizan/actors"
	"mizan/actors/account"
	alertactor "mizan/actors/alerts"
	"mizan/actors/checkpoint"
	contractactor "mizan/actors/contract"
	directoryactor "mizan/actors/directory"
	"mizan/actors/follower"
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	periodactor "mizan/actors/period"
	searchactor "mizan/actors/search"
	storefrontactor "mizan/actors/storefront"
	subscriptionactor "mizan/actors/subscription"
	turnoveractor "mizan/actors/turnover"
	"mizan/api"
	"mizan/api/admin"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/backup"
)

const (
	memTable        = 3 << 19          // bytes; so small that tables are written often, but the sandbox's first change fits
	segment         = 192 << 10        // bytes; slightly more than the largest group, so that the log often begins a new segment
	valuesFile      = 64 << 10         // bytes; so small that files of long values are often created and garbage-collected
	minUnstored     = 4                // so small that the rows for turnover and search are written often
	createWait      = 10 * time.Second // the server's default
	providerTimeout = 10 * time.Second
	actionTTL       = 30 * time.Minute
	baseURL         = "http://mizan.example"
	keyringFile     = "keyring"
)

// node is one process of the service, on a machine's disk. It contains everything that `mizan serve` starts, except sockets.
type node struct {
	dir       string
	disk      *machineDisk
	clock     clock.Clock
	keyring   *secret.Keyring
	journal   *posting.Journal
	runtime   *actors.Runtime
	directory *directoryactor.Service
	notifier  *notifier.Service
	backups   *backup.Service
	server    *api.Server
	listener  *pipeListener
	served    chan error
	client    *http.Client

	mu      sync.Mutex
	fatal   error      // the reason why the process ends; nil while the process runs; guarded by mu
	isCut   bool       // no client can reach the process any more; guarded by mu
	clients []net.Conn // the clients' ends of connections; guarded by mu
}

// startNode starts a process with the files in dir. It returns an error if a real process would refuse to start.
func (w *world) startNode(dir string) (n *node, err error) {
	log := slog.New(slog.DiscardHandler)
	n = &node{dir: dir, disk: newMachineDisk(w, dir), clock: w.clock, served: make(chan error, 1)}
	n.disk.setFull(w.isDiskFull)
	w.disk = n.disk
	if n.keyring, err = secret.LoadKeyring(filepath.Join(dir, keyringFile)); err != nil {
		return nil, err
	}
	n.journal, err = posting.Open(posting.Options{
		Store: store.Options{Dir: dir, MemTable: memTable, SegmentSize: segment, ValuesFileSize: valuesFile, Log: log, Disk: n.disk.open, MustExist: true},
		Clock: n.clock, Log: log, Fatal: n.fail, Queue: w.queue(),
	})
	if err != nil {
		return nil, err
	}
	if w.checksNext {
		w.checksNext = false
		if _, err := w.check(n.journal, dir, n.keyring); err != nil {
			w.recordViolation("checking the store: %v", err)
		}
	}
	if err := w.linkProviderLog(dir); err != nil {
		return nil, err
	}
	n.runtime = actors.New(actors.Options{Clock: n.clock, Journal: n.journal, Log: log, Sealer: n.keyring, Persist: w.persistClock})
	if err := n.startServices(w, log); err != nil {
		n.end(w)
		return nil, err
	}
	n.server = api.New(n.apiConfig(w, log))
	n.listener = newPipeListener()
	go func() { n.served <- n.server.Serve(n.listener) }()
	n.client = &http.Client{Transport: &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 16}, CheckRedirect: stayHere}
	return n, nil
}

func (n *node) startServices(w *world, log *slog.Logger) (err error) {
	if n.directory, err = directoryactor.Start(n.runtime, n.keyring); err != nil {
		return err
	}
	n.directory.AllowPrivateAddresses(true)
	w.services.accounts = account.New(n.runtime)
	var monitor *alertactor.Monitor
	pages := payerpage.Pages{Base: baseURL, Tokens: n.keyring.PageTokens()}
	w.services.payments = paymentactor.New(paymentactor.Options{
		Runtime: n.runtime, Directory: n.directory, Admission: w.services.accounts, Sealer: n.keyring, Addresses: n.directory,
		Providers:  map[string]actors.Provider{w.rail.Name(): w.rail},
		CreateWait: createWait, ProviderTimeout: providerTimeout, ActionTTL: actionTTL, ReturnURL: pages.Return,
		Observe: func(org ledger.ID, from payment.Status, r *payment.Record) { monitor.Observe(org, from, r) },
	})
	w.services.contracts = contractactor.New(n.runtime)
	w.services.accounts.SetHistory(w.services.payments.Attempts)
	w.services.renewals = subscriptionactor.New(subscriptionactor.Options{Runtime: n.runtime, Payments: w.services.payments, Directory: n.directory})
	n.notifier, err = notifier.New(notifier.Options{
		Runtime: n.runtime, Addresses: n.directory, AllowPrivate: true, Dial: w.receivers.dial,
		Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: w.services.payments, ledger.Subscription: w.services.renewals},
	})
	if err != nil {
		return err
	}
	monitor, err = alertactor.New(alertactor.Options{
		Runtime: n.runtime, Directory: n.directory, Notifier: n.notifier, Decode: paymentcodec.Decode, CanReach: func(*directory.Notification) bool { return false },
	})
	if err != nil {
		return err
	}
	checkpoint.Start(n.runtime)
	f := follower.New(n.runtime)
	w.services.turnover = turnoveractor.New(f, minUnstored)
	w.services.search = searchactor.New(f, minUnstored)
	f.Start()
	n.runtime.Start(paymentactor.ResumesAtStart)
	n.notifier.Resume()
	n.backups = backup.New(backup.Options{Journal: n.journal, Keyring: n.keyring, Clock: n.clock, Data: n.dir, Log: log})
	return nil
}

func (n *node) apiConfig(w *world, log *slog.Logger) api.Config {
	cfg := api.Config{
		Payments: w.services.payments, Contracts: w.services.contracts, Directory: n.directory, Journal: n.journal, Clock: n.clock, Log: log,
		BeginCommand: n.runtime.Enter, ProviderCalls: n.runtime.RunningJobs, Signer: n.keyring.Signer(), HeadKey: n.keyring.VerifierKey(), Fingerprint: n.keyring.Fingerprint,
		Pages: payerpage.Pages{Base: baseURL, Tokens: n.keyring.PageTokens()}, Payers: w.services.payments, Challenges: w.rail, ProviderUpdates: w.services.payments, UsageReader: w.services.accounts,
		Storefront: storefrontactor.New(n.journal, n.directory, baseURL), Deliveries: n.notifier, Subscriptions: w.services.renewals, Turnover: w.services.turnover, Finder: w.services.search, Periods: periodactor.New(n.runtime),
		Backup: func(since *admin.BackupBase) (io.ReadCloser, error) { return n.backups.Stream((*backup.Base)(since)) },
		Status: func() api.Status { return api.Status{Core: api.StatusOK, DB: api.StatusOK} },
		Env:    "sandbox", Domain: "mizan.example",
	}
	if w.manual != nil {
		cfg.Advance = n.runtime.Advance
	}
	return cfg
}

// stayHere makes the client follow only redirects to the service.
func stayHere(r *http.Request, _ []*http.Request) error {
	if !strings.HasPrefix(r.URL.String(), baseURL+"/") {
		return http.ErrUseLastResponse
	}
	return nil
}

// queue returns the number of changes that may wait for the journal's writer; 0 means as many as in production.
func (w *world) queue() int {
	if w.plan.Faults.Overflows {
		return 3
	}
	return 0
}

// fail is called when the store accepts no more writes. A real process would end at this point.
func (n *node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fatal == nil {
		n.fatal = err
	}
}

func (n *node) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fatal
}

// isGone returns whether the process has ended or is about to end.
func (n *node) isGone() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isCut || n.fatal != nil
}

// dial opens a client's connection.
func (n *node) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.listener.conns <- theirs:
	case <-n.listener.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut {
		_ = ours.Close()
		return nil, net.ErrClosed
	}
	n.clients = append(n.clients, ours)
	return ours, nil
}

// cutClients closes the connections of all clients, so clients get no answers to requests under way.
func (n *node) cutClients() {
	n.mu.Lock()
	clients := n.clients
	n.clients, n.isCut = nil, true
	n.mu.Unlock()
	for _, c := range clients {
		_ = c.Close()
	}
}

// stopTime is the longest simulated time that the actors may take to stop.
const stopTime = time.Hour

// end stops the process in the way an operator stops it. After a crash, end only ends the goroutines that remain. This has no
// effect on the world, because the files were copied before, and no client can reach the process.
func (n *node) end(w *world) {
	if n.server != nil {
		n.client.CloseIdleConnections()
		n.runtime.Quit()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := n.server.Shutdown(ctx); err != nil && n.failure() == nil {
			w.recordViolation("the server does not stop: %v", err)
		}
		cancel()
		<-n.served
		n.cutClients()
	}
	if n.backups != nil {
		n.backups.Close()
	}
	if n.notifier != nil {
		n.notifier.Close()
	}
	hasFailed := n.failure() != nil
	if hasFailed {
		n.journal.Drop()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		n.runtime.Stop()
	}()
	select {
	case <-stopped:
	case <-time.After(stopTime):
		w.recordViolation("the actors do not stop: a change or an answer was forgotten")
		return
	}
	if hasFailed {
		n.journal.Abandon()
		return
	}
	if err := n.journal.Close(); err != nil {
		if n.failure() == nil && !errors.Is(err, syscall.ENOSPC) { // a full disk loses nothing: all changes are in the log
			w.recordViolation("the journal does not close: %v", err)
		}
		n.journal.Abandon()
	}
}

// pipeListener accepts connections within the process.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8443} }
