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
	reconciliationactor "mizan/actors/reconciliation"
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
	*scheduler // of the process's operations
	*engine    // nil in a cluster, where processes have engines only while they lead

	dir      string
	disk     *machineDisk
	clock    clock.Clock
	keyring  *secret.Keyring
	server   *api.Server
	listener *pipeListener
	served   chan error
	client   *http.Client

	mu      sync.Mutex
	fatal   error      // the reason why the process ends; nil while the process runs; guarded by mu
	isCut   bool       // no client can reach the process any more; guarded by mu
	clients []net.Conn // the clients' ends of connections; guarded by mu
}

// engine is everything that works on one store.
type engine struct {
	journal   *posting.Journal
	runtime   *actors.Runtime
	directory *directoryactor.Service
	notifier  *notifier.Service
	backups   *backup.Service
	accounts  *account.Service
	payments  *paymentactor.Service
	contracts *contractactor.Service
	renewals  *subscriptionactor.Service
	turnover  *turnoveractor.Counter
	search    *searchactor.Index
	rail      *railLink
	mayCall   func(org ledger.ID) error // see paymentactor.Options

	notFoundCounts func(org ledger.ID) bool // see paymentactor.Options
	isCut          bool                     // it opens no connections to merchants' servers any more; guarded by the receivers' mu
}

// startNode starts a process with the files in dir. It returns an error if a real process would refuse to start.
func (w *world) startNode(dir string) (n *node, err error) {
	log := slog.New(slog.DiscardHandler)
	n = &node{scheduler: w.scheduler, dir: dir, disk: newMachineDisk(w, w.scheduler, dir, "", w.unsynced), clock: w.clock}
	w.unsynced = unsyncedChanges{}
	n.disk.setFull(w.isDiskFull)
	w.disk = n.disk
	if n.keyring, err = secret.LoadKeyring(filepath.Join(dir, keyringFile)); err != nil {
		return nil, err
	}
	journal, err := posting.Open(posting.Options{Store: n.storeOptions(log), Clock: n.clock, Log: log, Fatal: n.fail, Queue: w.queue()})
	if err != nil {
		return nil, err
	}
	if w.checksNext {
		w.checksNext = false
		if _, err := w.check(journal, dir, w.answersFile(), n.keyring); err != nil {
			w.recordViolation("checking the store: %v", err)
		}
	}
	if err := w.linkProviderLog(dir); err != nil {
		return nil, err
	}
	n.engine = &engine{journal: journal, rail: &railLink{w.rail, n.scheduler}}
	w.current = n.engine
	if err := n.engine.start(w, n, dir, log); err != nil {
		n.end(w)
		return nil, err
	}
	cfg := n.engine.apiConfig(w, n, log)
	if w.manual != nil {
		cfg.Advance = n.runtime.Advance
	}
	n.serve(api.New(cfg))
	return n, nil
}

// storeOptions returns the options of a process's store.
func (n *node) storeOptions(log *slog.Logger) store.Options {
	return store.Options{Dir: n.dir, MemTable: memTable, SegmentSize: segment, ValuesFileSize: valuesFile, Log: log, Disk: n.disk.open, MustExist: true}
}

// serve makes the process serve clients.
func (n *node) serve(server *api.Server) {
	n.server, n.listener, n.served = server, newPipeListener(), make(chan error, 1)
	go func() { n.served <- n.server.Serve(n.listener) }()
	n.client = &http.Client{Transport: &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 16}, CheckRedirect: stayHere}
}

// start starts the actors on a journal. dataDir is the data directory of its store.
func (e *engine) start(w *world, n *node, dataDir string, log *slog.Logger) (err error) {
	e.runtime = actors.New(actors.Options{Clock: n.clock, Journal: e.journal, Log: log, Sealer: n.keyring, Persist: w.persistClock})
	if e.directory, err = directoryactor.Start(e.runtime, n.keyring); err != nil {
		return err
	}
	e.directory.AllowPrivateAddresses(true)
	e.accounts = account.New(e.runtime)
	var monitor *alertactor.Monitor
	pages := payerpage.Pages{Base: baseURL, Tokens: n.keyring.PageTokens()}
	e.payments = paymentactor.New(paymentactor.Options{
		Runtime: e.runtime, Directory: e.directory, Admission: e.accounts, Sealer: n.keyring, Addresses: e.directory,
		Providers:  map[string]actors.Provider{e.rail.Name(): e.rail},
		CreateWait: createWait, ProviderTimeout: providerTimeout, ActionTTL: actionTTL, ReturnURL: pages.Return, MayCall: e.mayCall, NotFoundCounts: e.notFoundCounts,
		Observe: func(org ledger.ID, from payment.Status, r *payment.Record) { monitor.Observe(org, from, r) },
	})
	e.contracts = contractactor.New(e.runtime)
	e.accounts.SetHistory(e.payments.Attempts)
	e.renewals = subscriptionactor.New(subscriptionactor.Options{Runtime: e.runtime, Payments: e.payments, Directory: e.directory})
	e.notifier, err = notifier.New(notifier.Options{
		Runtime: e.runtime, Addresses: e.directory, AllowPrivate: true, Dial: w.receivers.dialer(e, n.scheduler),
		Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: e.payments, ledger.Subscription: e.renewals},
	})
	if err != nil {
		return err
	}
	monitor, err = alertactor.New(alertactor.Options{
		Runtime: e.runtime, Directory: e.directory, Notifier: e.notifier, Decode: paymentcodec.Decode, CanReach: func(*directory.Notification) bool { return false },
	})
	if err != nil {
		return err
	}
	checkpoint.Start(e.runtime)
	f := follower.New(e.runtime)
	e.turnover = turnoveractor.New(f, minUnstored)
	e.search = searchactor.New(f, minUnstored)
	f.Start()
	e.runtime.Start(paymentactor.ResumesAtStart)
	e.notifier.Resume()
	e.backups = backup.New(backup.Options{Journal: e.journal, Keyring: n.keyring, Clock: n.clock, Data: dataDir, Log: log})
	return nil
}

func (e *engine) apiConfig(w *world, n *node, log *slog.Logger) api.Config {
	return api.Config{
		Payments: e.payments, Contracts: e.contracts, Directory: e.directory, Journal: e.journal, Clock: n.clock, Log: log,
		BeginCommand: e.runtime.Enter, ProviderCalls: e.runtime.RunningJobs, Signer: n.keyring.Signer(), HeadKey: n.keyring.VerifierKey(), Fingerprint: n.keyring.Fingerprint,
		Pages: payerpage.Pages{Base: baseURL, Tokens: n.keyring.PageTokens()}, Payers: e.payments, Challenges: e.rail, ProviderUpdates: e.payments, UsageReader: e.accounts,
		Storefront: storefrontactor.New(e.journal, e.directory, baseURL), Deliveries: e.notifier, Subscriptions: e.renewals, Turnover: e.turnover, Finder: e.search, Periods: periodactor.New(e.runtime),
		Reconciliation: reconciliationactor.New(reconciliationactor.Config{Journal: e.journal, Writer: e.directory, Clock: n.clock}),
		Backup:         func(since *admin.BackupBase) (io.ReadCloser, error) { return e.backups.Stream((*backup.Base)(since)) },
		Status:         func() api.Status { return api.Status{Core: api.StatusOK, DB: api.StatusOK} },
		Env:            "sandbox", Domain: "mizan.example",
	}
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
		n.runtime.Quit()
		n.stopServing(w)
	}
	hasFailed := n.failure() != nil
	drop := func() {}
	if hasFailed {
		drop = n.journal.Drop
	}
	if !n.engine.stop(w, drop) {
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

// stopServing waits for the requests under way, and closes the connections of clients.
func (n *node) stopServing(w *world) {
	n.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.server.Shutdown(ctx); err != nil && n.failure() == nil {
		w.recordViolation("the server does not stop: %v", err)
	}
	<-n.served
	n.cutClients()
}

// stop ends the actors, and calls drop before. If they do not end, it returns false.
func (e *engine) stop(w *world, drop func()) bool {
	if e.backups != nil {
		e.backups.Close()
	}
	if e.notifier != nil {
		e.notifier.Close()
	}
	drop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.runtime.Stop()
	}()
	select {
	case <-stopped:
		return true
	case <-time.After(stopTime):
		w.recordViolation("the actors do not stop: a change or an answer was forgotten")
		return false
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
