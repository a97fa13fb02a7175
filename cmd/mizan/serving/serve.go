package serving

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"mizan/actors"
	"mizan/actors/account"
	alertactor "mizan/actors/alerts"
	"mizan/actors/checkpoint"
	"mizan/actors/contract"
	"mizan/actors/directory"
	"mizan/actors/notifier"
	"mizan/actors/notifier/operators"
	"mizan/actors/payment"
	"mizan/actors/period"
	"mizan/actors/provider/simulator"
	"mizan/actors/provider/utp"
	"mizan/actors/subscription"
	"mizan/api"
	"mizan/api/connlimit"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/internal/secret"
	"mizan/internal/wiping"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/backup"
)

// stopBound is how long in-flight work may take after SIGTERM.
const stopBound = 15 * time.Second

// simulatorLog, in the data directory, is what the simulated provider has done.
const simulatorLog = "simulator.log"

// What health says of the core.
const (
	coreStarting = "starting"
	coreReady    = api.StatusOK
	coreStopping = "stopping"
)

// server is the running product, put together phase by phase.
type server struct {
	cfg     *config.Config
	streams *cli.Streams
	version string // of this program
	log     *slog.Logger
	level   *slog.LevelVar // of log
	core    atomic.Value   // string: what health says

	hangups <-chan os.Signal                   // each has what is reloadable read again; nil: there are none
	reread  func() (*config.Reloadable, error) // set with hangups

	clock       clock.Clock
	manual      *clock.Manual // nil: a real clock
	journal     *posting.Journal
	keyring     *secret.Keyring
	runtime     *actors.Runtime
	directory   *directory.Service
	providers   map[string]actors.Provider
	simulator   *simulator.Simulator // nil without --sandbox
	accounts    *account.Service
	payments    *payment.Service
	contracts   *contract.Service
	renewals    *subscription.Service
	notifier    *notifier.Service
	operators   *operators.Channels
	alerts      *alertactor.Monitor
	checkpoints *checkpoint.Keeper
	transport   *transport
	handles     handles
	gate        *connlimit.Gate // of the API's connections
	listener    net.Listener
	starting    *starting // answers on the listener until api does
	address     string    // where this machine reaches the server
	baseURL     string    // where clients do
	metrics     *metrics
	backups     *backup.Service
	api         atomic.Pointer[api.Server] // nil before it serves

	opened []func() error // what a stop closes, last first
	stopBy time.Time      // when a stop has to be over; zero: nobody asked for one
}

// Command is `mizan serve`.
type Command struct{ config.Flags }

// Run implements the command.
func (c *Command) Run(s *cli.Streams, version cli.Version) error {
	if err := serveWithoutPreemption(); err != nil {
		return err
	}
	hangups := reloadSignals()
	cfg, err := c.Read()
	if err != nil {
		return err
	}
	LimitMemory()
	ctx, stop := cli.Interruptible()
	defer stop()
	srv := newServer(cfg, s)
	srv.version = string(version)
	srv.hangups, srv.reread = hangups, c.Reread
	return srv.run(ctx)
}

func newServer(cfg *config.Config, s *cli.Streams) *server {
	level := new(slog.LevelVar)
	level.Set(cfg.Level)
	srv := &server{cfg: cfg, streams: s, log: newLog(level, cfg.LogFormat, s.Err), level: level, providers: make(map[string]actors.Provider)}
	srv.core.Store(coreStarting)
	return srv
}

// run serves until ctx ends. The order of the phases is invariant 2 of the package.
func (s *server) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	for _, phase := range []func(context.Context) error{
		s.shareOpenFiles, s.openStore, s.openKeyring, s.check, s.openTransport, s.openDirectory, s.listen, s.openProviders, s.startActors, s.furnish, s.openBackups,
	} {
		if ctx.Err() != nil {
			return nil // asked to stop before it was ready
		}
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}

// onClose has fn called when the server stops, before what was opened earlier.
func (s *server) onClose(fn func() error) { s.opened = append(s.opened, fn) }

func (s *server) close() error {
	var err error
	for i := len(s.opened) - 1; i >= 0; i-- {
		if failed := s.opened[i](); failed != nil && err == nil {
			err = cli.StorageFault("%v", failed)
		}
	}
	return err
}

// openDirectory loads who takes part, and sees that the store is what it is
// started as.
func (s *server) openDirectory(context.Context) (err error) {
	s.runtime = actors.New(actors.Options{
		Clock: s.clock, Journal: s.journal, Log: s.log, Sealer: s.keyring,
		Persist: func(at time.Time) error { return writeClock(s.cfg.Dir, at) },
	})
	if s.directory, err = directory.Start(s.runtime, s.keyring); err != nil {
		return cli.StorageFault("%v", err)
	}
	s.directory.AllowPrivateHooks(s.cfg.PrivateHooks)
	_, demo := s.directory.Sandbox()
	switch {
	case s.directory.AdminTokenRetired([]byte(s.cfg.AdminToken)):
		return cli.BadConfiguration("admin-token-file: another token has taken the place of the one in this file")
	case !s.cfg.Sandbox && demo:
		return cli.BadConfiguration("sandbox: " + s.cfg.Dir + " holds a sandbox; start it with --sandbox")
	case s.cfg.Sandbox && !demo && !s.directory.Empty():
		return cli.BadConfiguration("sandbox: " + s.cfg.Dir + " holds a store that is not a sandbox")
	}
	return nil
}

// openProviders makes the provider that speaks to other platforms, and takes up the
// simulator's log; without --sandbox there is none. It is begun before the sandbox
// is seeded, so later it can only be lost.
func (s *server) openProviders(context.Context) error {
	platforms := utp.New(utp.Options{Clock: s.clock, Log: s.log, Timeout: s.cfg.ProviderWait, Connected: s.directory.Connected})
	s.onClose(platforms.Close)
	s.providers[platforms.Name()] = platforms
	if !s.cfg.Sandbox {
		return nil
	}
	path := filepath.Join(s.cfg.Dir, simulatorLog)
	_, seeded := s.directory.Sandbox()
	if _, err := os.Stat(path); seeded && errors.Is(err, fs.ErrNotExist) {
		return cli.StorageFault("%s is missing; restore from a backup", path)
	}
	simulated, err := simulator.Open(simulator.Options{
		Path: path, Clock: s.clock, BaseURL: s.baseURL, Key: s.keyring.Derive("simulator challenge"),
		Failed: func(err error) {
			s.log.Error("the simulated provider's log could not be synced: its calls fail until the server is started again", "error", err)
		},
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if !seeded {
		if err := durable.SyncDir(s.cfg.Dir); err != nil {
			return cli.StorageFault("%v", errors.Join(err, simulated.Close()))
		}
	}
	s.onClose(simulated.Close)
	s.providers[simulated.Name()], s.simulator = simulated, simulated
	return nil
}

// startActors starts the runtime and takes up what is due.
func (s *server) startActors(context.Context) error {
	if err := s.openOperators(); err != nil {
		return err
	}
	s.accounts = account.New(s.runtime)
	s.payments = payment.New(payment.Options{
		Runtime: s.runtime, Directory: s.directory, Admission: s.accounts, Sealer: s.keyring, Providers: s.providers, Addresses: s.directory,
		CreateWait: s.cfg.CreateWait, ProviderTimeout: s.cfg.ProviderWait, ActionTTL: s.cfg.ActionTTL,
		ReturnURL: s.pages().Return, Operators: s.operators.Reaches, Observe: s.moved,
	})
	s.contracts = contract.New(s.runtime)
	s.accounts.Recall(s.payments.Attempts)
	s.renewals = subscription.New(subscription.Options{Runtime: s.runtime, Payments: s.payments, Directory: s.directory})
	if err := s.openNotifier(); err != nil {
		return err
	}
	if err := s.openAlerts(); err != nil {
		return err
	}
	s.checkpoints = checkpoint.Start(s.runtime)
	s.runtime.Start(payment.Resumes)
	s.notifier.Resume()
	s.onClose(s.stopActors)
	s.startJanitor()
	return nil
}

// openNotifier reads which notifications wait. None is sent before the runtime runs.
func (s *server) openNotifier() (err error) {
	s.notifier, err = notifier.New(notifier.Options{
		Runtime: s.runtime, Addresses: s.directory, Tellers: map[ledger.Kind]actors.Teller{ledger.Transaction: s.payments, ledger.Subscription: s.renewals},
		Connections: s.handles.deliveries, Operators: s.tellOperators, AllowPrivate: s.cfg.PrivateHooks, Retention: s.cfg.Retention, Observe: s.metrics.notified,
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// pages knows the addresses of payers' pages.
func (s *server) pages() api.Pages {
	return api.Pages{Base: s.baseURL, Tokens: s.keyring.PageTokens()}
}

// startJanitor gives the memory of bursts back while the server rests.
func (s *server) startJanitor() {
	ticker, stop := time.NewTicker(idleLook), make(chan struct{})
	s.onClose(func() error {
		ticker.Stop()
		close(stop)
		return nil
	})
	go giveBack(s.journal.Stats.Changes.Load, ticker.C, stop)
}

// stopActors writes down what was used last and waits for what is under way, as
// long as a stop may take. What is not finished then is durable as an intent, and
// taken up at the next start.
func (s *server) stopActors() error {
	by := s.stopBy
	if by.IsZero() {
		by = time.Now().Add(stopBound)
	}
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		if err := s.directory.NoteUses(ctx); err != nil {
			s.log.Warn("when keys and sessions were last used is not written down for all", "error", err)
		}
		s.notifier.Close()
		s.runtime.Stop()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("work is still under way; the next start takes it up", "units", s.runtime.Outstanding())
	}
	return nil
}

// listen binds the addresses. Until serve takes over, requests are answered with
// what is known of the start. It comes before the providers, because rails are told
// where payers come back to.
func (s *server) listen(context.Context) error {
	connections, err := s.limitConnections()
	if err != nil {
		return err
	}
	if s.listener, err = bind("listen", s.cfg.Listen); err != nil {
		return err
	}
	s.onClose(ignoreClosed(s.listener.Close))
	s.address = reachedAt(s.cfg, s.listener)
	s.baseURL = publicURL(s.cfg, s.address)
	socket := s.listener
	s.listener = s.gate.Listener(s.listener)
	if s.transport.config != nil {
		s.listener = wiping.Listen(s.listener, s.transport.config)
	}
	if err := s.serveMetrics(); err != nil {
		return err
	}
	s.log.Info("open files", "limit", s.handles.limit, "connections", connections, "deliveries", s.handles.deliveries)
	s.answerWhileStarting(socket)
	return nil
}

// serveMetrics serves --metrics-listen from here on.
func (s *server) serveMetrics() error {
	if s.cfg.MetricsAddress == "" {
		return nil
	}
	scrapes, err := bind("metrics-listen", s.cfg.MetricsAddress)
	if err != nil {
		return err
	}
	s.log.Info("metrics", "address", scrapes.Addr().String())
	gate := connlimit.NewGate(connlimit.Options{Total: metricsHandles, Log: s.log})
	server := s.metrics.server(s.log)
	go func() { _ = server.Serve(gate.Listener(scrapes)) }()
	s.onClose(server.Close)
	return nil
}

func bind(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, cli.BadConfiguration(key + ": " + address + " is in use by another process")
	case err != nil:
		return nil, cli.BadConfiguration(key + ": " + err.Error())
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

// serve answers until ctx ends, then finishes what is in flight.
func (s *server) serve(ctx context.Context) error {
	server := api.New(s.apiConfig())
	s.api.Store(server)
	if s.starting != nil {
		s.starting.stop()
	}
	s.core.Store(coreReady)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	s.announce()
	for ctx.Err() == nil {
		select {
		case err := <-ended:
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: the listener broke: " + errorText(err)}}
		case <-s.hangups:
			s.reload()
		case <-ctx.Done():
		}
	}
	s.core.Store(coreStopping)
	s.log.Info("stopping")
	s.runtime.Quit()
	s.stopBy = time.Now().Add(stopBound)
	bound, cancel := context.WithDeadline(context.Background(), s.stopBy)
	defer cancel()
	if err := server.Shutdown(bound); err != nil {
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
		Enter: s.runtime.Enter, Away: s.runtime.Calling, Signer: s.keyring.Signer(), HeadKey: s.keyring.VerifierKey(), Fingerprint: s.keyring.Fingerprint,
		TrustedProxies: s.cfg.Proxies, BehindProxy: s.cfg.TLS == "off" && len(s.cfg.Proxies) > 0,
		RateLimit: s.cfg.RateLimit, Observe: s.metrics.observe, Pages: s.pages(), Payers: s.payments, Hints: s.payments, Usage: s.accounts,
		Deliveries: s.notifier, Subscriptions: s.renewals, Periods: period.New(s.runtime), Backup: s.backup,
	}
	is := s.identity()
	cfg.Status, cfg.Version, cfg.Env, cfg.Domain = is.Status, is.Version, is.Env, is.Domain
	if s.simulator != nil {
		cfg.Challenges = s.simulator
	}
	if s.manual != nil {
		cfg.Advance = s.runtime.Advance
	}
	return cfg
}

// identity is what the checks say of the server.
func (s *server) identity() api.Config {
	cfg := api.Config{Status: s.status, Version: s.version, Env: "production"}
	if u, err := url.Parse(s.baseURL); err == nil {
		cfg.Domain = u.Hostname()
	}
	if s.cfg.Sandbox {
		cfg.Env = "sandbox"
	}
	return cfg
}

// status is what the health check says.
func (s *server) status() api.Status {
	status := api.Status{Core: s.core.Load().(string), DB: api.StatusOK}
	if s.journal.LowSpace() {
		status.DB = "low_space"
	}
	return status
}

// fatal ends the process on an error of the store. Nothing is acknowledged any
// more: what is durable is found out by the next start.
func (s *server) fatal(err error) {
	os.Exit(cli.ReportExit(cli.StorageFault("%v", err), s.streams.Err))
}
