package serving

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
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
	"mizan/actors/notifier/operators"
	paymentactor "mizan/actors/payment"
	periodactor "mizan/actors/period"
	reconciliationactor "mizan/actors/reconciliation"
	searchactor "mizan/actors/search"
	storefrontactor "mizan/actors/storefront"
	subscriptionactor "mizan/actors/subscription"
	turnoveractor "mizan/actors/turnover"
	"mizan/api"
	"mizan/api/accesslog"
	"mizan/api/checkout"
	"mizan/api/connlimit"
	"mizan/api/web/payerpage"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/cmd/mizan/serving/metrics"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/internal/tracing"
	"mizan/internal/wiping"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/backup"
)

// stopTimeout is how long work in progress may continue after SIGTERM.
const stopTimeout = 15 * time.Second

// simulatorLog is the name of the simulated provider's log in the data directory.
const simulatorLog = "simulator.log"

// Values of core_status in health checks.
const (
	coreStarting = "starting"
	coreReady    = api.StatusOK
	coreStopping = "stopping"
)

// process holds what all parts of the running product share. Each phase of run sets some of its fields.
type process struct {
	*closers

	cfg     *config.Config
	streams *cli.Streams
	version string       // version of this program
	core    atomic.Value // a string: the core_status that health checks report

	log       *slog.Logger
	level     *slog.LevelVar // the least severe level that log writes
	logOutput *logOutput     // the writer to stderr, which log and accessLog share

	sighups <-chan os.Signal                   // each received signal triggers a reload; nil if the server does not reload
	reread  func() (*config.Reloadable, error) // reads the settings that can be reloaded; set if sighups is set

	clock          clock.Clock
	manualClock    *clock.Manual // nil if the clock is the real one
	keyring        *secret.Keyring
	transport      *transport
	handles        handles
	gate           *connlimit.Gate // bounds the number of connections to the API
	listener       net.Listener
	startingServer *startingServer // handles health checks until the API serves the listener
	address        string          // URL at which this machine reaches the server
	baseURL        string          // URL at which clients reach the server
	metrics        *metrics.Metrics
	accessLog      *accesslog.Log
	tracer         *tracing.Tracer // nil: no traces are recorded

	lowSpace func() bool  // tells whether a disk is nearly full; nil until a store is open
	isCutOff func() bool  // tells whether this node of a cluster can serve nothing; nil for a single server, and until the stores are open
	stopBy   atomic.Int64 // deadline of the stop in progress, as UnixNano; 0: no stop was requested
}

// server holds the parts that serve one store. Each phase of run sets some of its fields.
type server struct {
	*process
	*closers // in a process that serves one store, those of the process

	dir     string           // the store's data directory
	metrics *metrics.Metrics // those of the process, with the shard's label in a cluster
	journal *posting.Journal
	mayCall func(org ledger.ID) error // asked before each operation is sent to a provider; nil: always

	notFoundCounts func(org ledger.ID) bool // see payment.Options; nil: always
	runtime        *actors.Runtime
	directory      *directoryactor.Service
	providers      map[string]actors.Provider
	challenges     checkout.Challenges // the simulator's challenges; nil without --sandbox
	accounts       *account.Service
	payments       *paymentactor.Service
	contracts      *contractactor.Service
	renewals       *subscriptionactor.Service
	notifier       *notifier.Service
	operators      *operators.Channels
	alerts         *alertactor.Monitor
	checkpoints    *checkpoint.Maker
	turnover       *turnoveractor.Counter
	search         *searchactor.Index
	backups        *backup.Service
}

// Command is the command `mizan serve`.
type Command struct{ config.Flags }

// Run serves until a signal requests a stop.
func (c *Command) Run(s *cli.Streams, version cli.Version) error {
	if err := restartWithoutPreemption(); err != nil {
		return err
	}
	sighups := reloadSignals()
	cfg, err := c.Read()
	if err != nil {
		return err
	}
	LimitMemory()
	ctx, stop := cli.SignalContext()
	defer stop()
	p := newProcess(cfg, s, string(version))
	p.sighups, p.reread = sighups, c.Reread
	run := newServer(p).run
	if cfg.Cluster.Node != "" {
		run = (&clusterNode{process: p, opened: make(chan struct{})}).run
	}
	if err := run(ctx); err != nil {
		return &cli.Fault{Code: cli.ReportExit(err, p.logOutput)} // logOutput does not wait forever if nobody reads stderr
	}
	return nil
}

func newProcess(cfg *config.Config, s *cli.Streams, version string) *process {
	level := new(slog.LevelVar)
	level.Set(cfg.Level)
	output := newLogOutput(s.Err)
	p := &process{
		closers: new(closers), cfg: cfg, streams: s, version: version, log: newLog(level, cfg.LogFormat, output), level: level, logOutput: output,
		metrics: metrics.New(version),
	}
	p.core.Store(coreStarting)
	return p
}

// newServer returns the server of a process that serves one store.
func newServer(p *process) *server {
	return &server{process: p, closers: p.closers, dir: p.cfg.Dir, metrics: p.metrics, providers: make(map[string]actors.Provider)}
}

// run starts the parts of the server in the order of invariant 2 in doc.go, and serves until ctx ends.
func (s *server) run(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, s.logOutput.stop)()
	defer func() {
		s.logOutput.stop()
		err = errors.Join(err, s.close())
	}()
	for _, phase := range []func(context.Context) error{
		s.openObservation, s.shareOpenFiles, s.openStore, s.observeGroups, s.openKeyring, s.checkStore, s.openTransport, s.openDirectory, s.listen, s.openProviders, s.startActors, s.seedStore, s.openBackups,
	} {
		if ctx.Err() != nil {
			return nil // a stop was requested before the server was ready
		}
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}

// openDirectory loads the organizations, partners and keys. It also checks the flag --sandbox: the flag must be given for a
// sandbox's store, and must not be given for another store that has data.
func (s *server) openDirectory(context.Context) (err error) {
	s.runtime = actors.New(actors.Options{
		Clock: s.clock, Journal: s.journal, Log: s.log, Sealer: s.keyring,
		Persist: func(at time.Time) error { return writeClock(s.dir, at) },
	})
	s.metrics.RegisterRuntime(s.runtime)
	if s.directory, err = directoryactor.Start(s.runtime, s.keyring); err != nil {
		return cli.StorageFault("%v", err)
	}
	s.directory.AllowPrivateAddresses(s.cfg.PrivateHooks)
	_, isSandbox := s.directory.Sandbox()
	switch {
	case s.directory.AdminTokenRetired([]byte(s.cfg.AdminToken)):
		return cli.BadConfiguration("admin-token-file: another token has taken the place of the one in this file")
	case !s.cfg.Sandbox && isSandbox:
		return cli.BadConfiguration("sandbox: " + s.dir + " holds a sandbox; start it with --sandbox")
	case s.cfg.Sandbox && !isSandbox && !s.directory.Empty():
		return cli.BadConfiguration("sandbox: " + s.dir + " holds a store that is not a sandbox")
	}
	return nil
}

// startActors starts the runtime and resumes due work.
func (s *server) startActors(context.Context) error {
	if err := s.openOperators(); err != nil {
		return err
	}
	s.accounts = account.New(s.runtime)
	s.payments = paymentactor.New(paymentactor.Options{
		Runtime: s.runtime, Directory: s.directory, Admission: s.accounts, Sealer: s.keyring, Providers: s.providers, Addresses: s.directory,
		CreateWait: s.cfg.CreateWait, ProviderTimeout: s.cfg.ProviderWait, ActionTTL: s.cfg.ActionTTL,
		ReturnURL: s.pagesConfig().Return, MayCall: s.mayCall, NotFoundCounts: s.notFoundCounts, CanReachOperators: s.operators.Reaches, SendsReceipts: s.operators.SendsMail(), Observe: s.onStatusChange,
		ObserveCall: s.metrics.OnProviderCall, Tracer: s.tracer,
	})
	s.metrics.RegisterCircuits(slices.Sorted(maps.Keys(s.providers)), s.payments.Circuits)
	s.contracts = contractactor.New(s.runtime)
	s.accounts.SetHistory(s.payments.Attempts)
	s.renewals = subscriptionactor.New(subscriptionactor.Options{Runtime: s.runtime, Payments: s.payments, Directory: s.directory})
	if err := s.openNotifier(); err != nil {
		return err
	}
	if err := s.openAlerts(); err != nil {
		return err
	}
	s.checkpoints = checkpoint.Start(s.runtime)
	s.metrics.RegisterCheckpoints(s.checkpoints)
	s.startFollower()
	s.runtime.Start(paymentactor.ResumesAtStart)
	s.notifier.Resume()
	s.onClose(s.stopActors)
	s.startMemoryRelease()
	return nil
}

// startFollower starts the background readers of the journal: the counter of turnover and the search index.
func (s *server) startFollower() {
	f := follower.New(s.runtime)
	s.turnover = turnoveractor.New(f, turnoveractor.MinUnstored)
	s.metrics.RegisterTurnover(s.turnover)
	s.search = searchactor.New(f, searchactor.MinUnstored)
	s.metrics.RegisterSearch(s.search)
	f.Start()
}

// openNotifier loads the notifications that wait to be sent. It sends none, because sending begins when the runtime starts.
func (s *server) openNotifier() (err error) {
	s.notifier, err = notifier.New(notifier.Options{
		Runtime: s.runtime, Addresses: s.directory, Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: s.payments, ledger.Subscription: s.renewals},
		Connections: s.handles.deliveries, NotifyOperators: s.notifyOperators, MailReceipt: s.mailReceipt, AllowPrivate: s.cfg.PrivateHooks, Retention: s.cfg.DeliveryRetention, Observe: s.metrics.OnDelivery,
		Tracer: s.tracer,
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	s.metrics.RegisterNotifier(s.notifier, s.log)
	return nil
}

// pagesConfig returns the configuration of the pages that payers see.
func (p *process) pagesConfig() payerpage.Pages {
	return payerpage.Pages{Base: p.baseURL, Tokens: p.keyring.PageTokens()}
}

// startMemoryRelease starts the goroutine that returns memory to the system after each burst of requests.
func (s *server) startMemoryRelease() {
	ticker, stop := time.NewTicker(idleCheckInterval), make(chan struct{})
	s.onClose(func() error {
		ticker.Stop()
		close(stop)
		return nil
	})
	go releaseMemory(s.journal.Stats.Changes.Load, ticker.C, stop)
}

// stopActors stores when keys and sessions were last used, and waits for work in progress. It gives up when the time for the
// stop is over. Unfinished work is durable, and the next start resumes it.
func (s *server) stopActors() error {
	ctx, cancel := context.WithDeadline(context.Background(), s.stopDeadline())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		if err := s.directory.FlushUses(ctx); err != nil {
			s.log.Warn("the last uses of keys and sessions could not all be stored", "error", err)
		}
		s.notifier.Close()
		s.runtime.Stop()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("work is still under way; the next start resumes it", "units", s.runtime.Outstanding())
	}
	return nil
}

// listen opens the listeners. Until serve takes over, only health checks are handled. listen runs before the providers are
// opened, because calls to providers contain the address to which payers return.
func (p *process) listen(context.Context) error {
	connections, err := p.limitConnections()
	if err != nil {
		return err
	}
	if p.listener, err = bind("listen", p.cfg.Listen); err != nil {
		return err
	}
	p.onClose(ignoreClosed(p.listener.Close))
	p.address = localURL(p.cfg, p.listener)
	p.baseURL = publicURL(p.cfg, p.address)
	socket := p.listener
	p.listener = p.gate.Listener(p.listener)
	if p.transport.config != nil {
		p.listener = wiping.Listen(p.listener, p.transport.config, func() []byte { return api.PlainHTTPResponse(p.baseAPIConfig()) })
	}
	if err := p.serveMetrics(); err != nil {
		return err
	}
	p.log.Info("open files", "limit", p.handles.limit, "connections", connections, "deliveries", p.handles.deliveries)
	p.answerWhileStarting(socket)
	return nil
}

func bind(configKey, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, cli.BadConfiguration(configKey + ": " + address + " is in use by another process")
	case err != nil:
		return nil, cli.BadConfiguration(configKey + ": " + err.Error())
	case l.Addr() == nil: // if getsockname fails, package net returns no error and a nil address
		_ = l.Close() // no connection was accepted yet, so an error of Close can be ignored
		return nil, cli.BadConfiguration(configKey + ": " + address + ": the kernel does not tell the address of the socket")
	}
	return l, nil
}

func ignoreClosed(fn func() error) func() error {
	return func() error {
		if err := fn(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// serve handles requests until ctx ends, and then finishes the requests in progress.
func (s *server) serve(ctx context.Context) error {
	server := api.New(s.apiConfig())
	s.metrics.RegisterAPI(server)
	return s.serveUntil(ctx, server, s.announce, s.runtime.Quit)
}

// httpServer handles the requests of a listener.
type httpServer interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// serveUntil lets the server handle the listener's requests until ctx ends, and then finishes the requests in progress. It
// calls announce when requests are served, and quit when the stop begins.
func (p *process) serveUntil(ctx context.Context, server httpServer, announce, quit func()) error {
	if p.startingServer != nil {
		p.startingServer.stop()
	}
	p.core.Store(coreReady)
	p.metrics.Ready()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(p.listener) }()
	p.obtainCertificates(ctx)
	announce()
	p.notifySupervisor(supervisorReady, "STATUS=serving on "+p.address)
	for ctx.Err() == nil {
		select {
		case err := <-ended:
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: the listener broke: " + errorText(err)}}
		case <-p.sighups:
			p.reload()
		case <-ctx.Done():
		}
	}
	p.core.Store(coreStopping)
	p.log.Info("stopping")
	p.notifySupervisor(supervisorStopping)
	quit()
	p.stopBy.Store(time.Now().Add(stopTimeout).UnixNano())
	shutdownCtx, cancel := context.WithDeadline(context.Background(), p.stopDeadline())
	defer cancel()
	if err := server.Shutdown(shutdownCtx); err != nil {
		p.log.Warn("requests were cut off", "error", err)
	}
	return nil
}

// stopDeadline returns when work in progress is given up, if it is to end now.
func (p *process) stopDeadline() time.Time {
	if at := p.stopBy.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now().Add(stopTimeout)
}

func errorText(err error) string {
	if err == nil {
		return "it was closed"
	}
	return err.Error()
}

func (s *server) apiConfig() api.Config {
	cfg := api.Config{
		Payments: s.payments, Contracts: s.contracts, Directory: s.directory, Journal: s.journal, Clock: s.clock, Log: s.log,
		BeginCommand: s.runtime.Enter, ProviderCalls: s.runtime.RunningJobs, Signer: s.keyring.Signer(), HeadKey: s.keyring.VerifierKey(), Fingerprint: s.keyring.Fingerprint,
		TrustedProxies: s.cfg.Proxies, BehindProxy: s.cfg.TLS == "off" && len(s.cfg.Proxies) > 0,
		RateLimit: s.cfg.RateLimit, Tracer: s.tracer, Pages: s.pagesConfig(), Payers: s.payments, ProviderUpdates: s.payments, UsageReader: s.accounts,
		Storefront: storefrontactor.New(s.journal, s.directory, s.baseURL), Deliveries: s.notifier, Subscriptions: s.renewals, Turnover: s.turnover, Finder: s.search, Periods: periodactor.New(s.runtime), LastCheck: s.lastCheck, Backup: s.startBackup,
		Circuits: s.payments, System: s.figures,
		Reconciliation: reconciliationactor.New(reconciliationactor.Config{Journal: s.journal, Writer: s.directory, Clock: s.clock, Sources: s.lineSources()}),
	}
	base := s.baseAPIConfig()
	cfg.Status, cfg.Version, cfg.Env, cfg.Domain = base.Status, base.Version, base.Env, base.Domain
	cfg.Observe, cfg.AccessLog = base.Observe, base.AccessLog
	cfg.Challenges = s.challenges
	if s.manualClock != nil {
		cfg.Advance = s.runtime.Advance
	}
	return cfg
}

// baseAPIConfig returns the part of the API's configuration that is needed even before an api.Server exists: the content of
// health checks, and the functions that record requests.
func (p *process) baseAPIConfig() api.Config {
	cfg := api.Config{Status: p.healthStatus, Version: p.version, Env: "production", Observe: p.metrics.OnExchange, AccessLog: p.accessLog}
	if u, err := url.Parse(p.baseURL); err == nil {
		cfg.Domain = u.Hostname()
	}
	if p.cfg.Sandbox {
		cfg.Env = "sandbox"
	}
	return cfg
}

// healthStatus returns the content of the response to health checks.
func (p *process) healthStatus() api.Status {
	status := api.Status{Core: p.core.Load().(string), DB: api.StatusOK}
	if p.lowSpace != nil && p.lowSpace() {
		status.DB = "low_space"
	}
	status.IsCutOff = p.isCutOff != nil && p.isCutOff()
	return status
}

// exitAfterStorageFault ends the process after an error of the store. Nothing more is acknowledged; the next
// start finds out what is durable.
func (p *process) exitAfterStorageFault(err error) {
	p.logOutput.stop()
	os.Exit(cli.ReportExit(cli.StorageFault("%v", err), p.logOutput))
}

// closers are functions that a stop calls. The function that was registered last is called first.
type closers struct{ functions []func() error }

func (c *closers) onClose(fn func() error) { c.functions = append(c.functions, fn) }

func (c *closers) close() error {
	var err error
	for i := len(c.functions) - 1; i >= 0; i-- {
		if closeErr := c.functions[i](); closeErr != nil && err == nil {
			err = cli.StorageFault("%v", closeErr)
		}
	}
	return err
}
