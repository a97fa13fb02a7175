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

// server holds the parts of the running product. Each phase of run sets some of its fields.
type server struct {
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
	journal        *posting.Journal
	keyring        *secret.Keyring
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
	backups        *backup.Service

	closers []func() error // functions that a stop calls in reverse order
	stopBy  time.Time      // deadline of the stop in progress; zero: no stop was requested
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
	srv := newServer(cfg, s)
	srv.version = string(version)
	srv.sighups, srv.reread = sighups, c.Reread
	if err := srv.run(ctx); err != nil {
		return &cli.Fault{Code: cli.ReportExit(err, srv.logOutput)} // logOutput does not wait forever if nobody reads stderr
	}
	return nil
}

func newServer(cfg *config.Config, s *cli.Streams) *server {
	level := new(slog.LevelVar)
	level.Set(cfg.Level)
	output := newLogOutput(s.Err)
	srv := &server{cfg: cfg, streams: s, log: newLog(level, cfg.LogFormat, output), level: level, logOutput: output, providers: make(map[string]actors.Provider)}
	srv.core.Store(coreStarting)
	return srv
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

// onClose registers a function that is called when the server stops. The function that was registered last is called first.
func (s *server) onClose(fn func() error) { s.closers = append(s.closers, fn) }

func (s *server) close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		if closeErr := s.closers[i](); closeErr != nil && err == nil {
			err = cli.StorageFault("%v", closeErr)
		}
	}
	return err
}

// openDirectory loads the organizations, partners and keys. It also checks the flag --sandbox: the flag must be given for a
// sandbox's store, and must not be given for another store that has data.
func (s *server) openDirectory(context.Context) (err error) {
	s.runtime = actors.New(actors.Options{
		Clock: s.clock, Journal: s.journal, Log: s.log, Sealer: s.keyring,
		Persist: func(at time.Time) error { return writeClock(s.cfg.Dir, at) },
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
		return cli.BadConfiguration("sandbox: " + s.cfg.Dir + " holds a sandbox; start it with --sandbox")
	case s.cfg.Sandbox && !isSandbox && !s.directory.Empty():
		return cli.BadConfiguration("sandbox: " + s.cfg.Dir + " holds a store that is not a sandbox")
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
		ReturnURL: s.pagesConfig().Return, CanReachOperators: s.operators.Reaches, SendsReceipts: s.operators.SendsMail(), Observe: s.onStatusChange,
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
func (s *server) pagesConfig() payerpage.Pages {
	return payerpage.Pages{Base: s.baseURL, Tokens: s.keyring.PageTokens()}
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
	deadline := s.stopBy
	if deadline.IsZero() {
		deadline = time.Now().Add(stopTimeout)
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
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
func (s *server) listen(context.Context) error {
	connections, err := s.limitConnections()
	if err != nil {
		return err
	}
	if s.listener, err = bind("listen", s.cfg.Listen); err != nil {
		return err
	}
	s.onClose(ignoreClosed(s.listener.Close))
	s.address = localURL(s.cfg, s.listener)
	s.baseURL = publicURL(s.cfg, s.address)
	socket := s.listener
	s.listener = s.gate.Listener(s.listener)
	if s.transport.config != nil {
		s.listener = wiping.Listen(s.listener, s.transport.config, func() []byte { return api.PlainHTTPResponse(s.baseAPIConfig()) })
	}
	if err := s.serveMetrics(); err != nil {
		return err
	}
	s.log.Info("open files", "limit", s.handles.limit, "connections", connections, "deliveries", s.handles.deliveries)
	s.answerWhileStarting(socket)
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
	if s.startingServer != nil {
		s.startingServer.stop()
	}
	s.core.Store(coreReady)
	s.metrics.Ready()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	s.obtainCertificates(ctx)
	s.announce()
	s.notifySupervisor(supervisorReady, "STATUS=serving on "+s.address)
	for ctx.Err() == nil {
		select {
		case err := <-ended:
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: the listener broke: " + errorText(err)}}
		case <-s.sighups:
			s.reload()
		case <-ctx.Done():
		}
	}
	s.core.Store(coreStopping)
	s.log.Info("stopping")
	s.notifySupervisor(supervisorStopping)
	s.runtime.Quit()
	s.stopBy = time.Now().Add(stopTimeout)
	shutdownCtx, cancel := context.WithDeadline(context.Background(), s.stopBy)
	defer cancel()
	if err := server.Shutdown(shutdownCtx); err != nil {
		s.log.Warn("requests were cut off", "error", err)
	}
	return nil
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
func (s *server) baseAPIConfig() api.Config {
	cfg := api.Config{Status: s.healthStatus, Version: s.version, Env: "production", Observe: s.metrics.OnExchange, AccessLog: s.accessLog}
	if u, err := url.Parse(s.baseURL); err == nil {
		cfg.Domain = u.Hostname()
	}
	if s.cfg.Sandbox {
		cfg.Env = "sandbox"
	}
	return cfg
}

// healthStatus returns the content of the response to health checks.
func (s *server) healthStatus() api.Status {
	status := api.Status{Core: s.core.Load().(string), DB: api.StatusOK}
	if s.journal.LowSpace() {
		status.DB = "low_space"
	}
	return status
}

// exitAfterStorageFault ends the process after an error of the store. Nothing more is acknowledged; the next
// start finds out what is durable.
func (s *server) exitAfterStorageFault(err error) {
	s.logOutput.stop()
	os.Exit(cli.ReportExit(cli.StorageFault("%v", err), s.logOutput))
}
