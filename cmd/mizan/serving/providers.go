package serving

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mizan/actors"
	"mizan/actors/provider/sepa"
	"mizan/actors/provider/simulator"
	"mizan/actors/provider/simulator/remote"
	"mizan/actors/provider/stripe"
	"mizan/actors/provider/utp"
	"mizan/cmd/mizan/cli"
	"mizan/internal/durable"
	"mizan/ledger/directory"
	"mizan/snapshots/check/calls"
)

// openProviders opens the adapters of the built-in providers: those for other payment platforms and for Stripe, with --sepa-dir the
// one for SEPA credit transfers and, with --sandbox, the simulator of this process or, with --simulator-url, the one of another
// process.
func (s *server) openProviders(context.Context) error {
	s.openPlatforms()
	s.openStripe()
	s.openSEPA()
	switch {
	case !s.cfg.Sandbox:
		return nil
	case s.cfg.SimulatorURL != "":
		return s.connectSimulator()
	}
	return s.openSimulator()
}

// openPlatforms opens the provider that sends payments to other payment platforms.
func (s *server) openPlatforms() {
	platformProvider := utp.New(utp.Options{
		Clock: s.clock, Log: s.log, Timeout: s.cfg.ProviderWait,
		Terminals: func() []*directory.Terminal { return s.directory.RemoteTerminals(utp.Name) },
	})
	s.onClose(platformProvider.Close)
	s.providers[platformProvider.Name()] = platformProvider
}

// openStripe opens the provider that charges through Stripe.
func (s *server) openStripe() {
	stripeProvider := stripe.New(stripe.Options{
		Clock: s.clock, Log: s.log, Timeout: s.cfg.ProviderWait,
		Terminals: func() []*directory.Terminal { return s.directory.RemoteTerminals(stripe.Name) },
	})
	s.onClose(stripeProvider.Close)
	s.providers[stripeProvider.Name()] = stripeProvider
}

// openSEPA opens the provider that pays out through files, if there is a directory for them.
func (s *server) openSEPA() {
	if s.cfg.SEPADir == "" {
		return
	}
	payouts := sepa.New(sepa.Options{Root: s.cfg.SEPADir, Clock: s.clock, Log: s.log, Terminal: s.directory.FindTerminal})
	s.providers[payouts.Name()] = payouts
}

// openSimulator opens the simulated provider with its log. In a sandbox, the log is created before the store's first data. So
// if a sandbox has data but no log, the log was lost.
func (s *server) openSimulator() error {
	if exists, err := s.hasFile(calls.RemoteName); err != nil {
		return err
	} else if exists {
		return cli.BadConfiguration("simulator-url: the charges of " + s.dir + " are in the log of a mizan simulator; name its address")
	}
	path := filepath.Join(s.dir, simulatorLog)
	_, isSeeded := s.directory.Sandbox()
	if _, err := os.Stat(path); isSeeded && errors.Is(err, fs.ErrNotExist) {
		return cli.StorageFault("%s is missing; restore from a backup", path)
	}
	simulatedProvider, err := simulator.Open(simulator.Options{
		Path: path, Clock: s.clock, BaseURL: s.baseURL, Key: s.keyring.Derive("simulator challenge"),
		OnSyncFailure: func(err error) {
			s.log.Error("the simulated provider's log could not be synced: its calls fail until the server is started again", "error", err)
		},
		OnDamage: s.exitAfterStorageFault,
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if !isSeeded {
		if err := durable.SyncDir(s.dir); err != nil {
			return cli.StorageFault("%v", errors.Join(err, simulatedProvider.Close()))
		}
	}
	s.onClose(simulatedProvider.Close)
	s.providers[simulatedProvider.Name()], s.challenges = simulatedProvider, simulatedProvider
	return nil
}

// connectSimulator opens the connection to the simulated provider in a process of its own. This process need not run yet. A
// store keeps the simulator with which it was made, because an inquiry at another one would say that a charge never arrived.
// So the file calls.RemoteName is created before the store's first data.
func (s *server) connectSimulator() error {
	if exists, err := s.hasFile(simulatorLog); err != nil {
		return err
	} else if exists {
		return cli.BadConfiguration("simulator-url: the charges of " + s.dir + " are in its own simulator.log; start it without --simulator-url")
	}
	simulatedProvider, err := remote.New(remote.Options{URL: s.cfg.SimulatorURL, Log: s.log, Timeout: s.cfg.ProviderWait})
	if err != nil {
		return cli.BadConfiguration("simulator-url: " + err.Error())
	}
	if err := s.rememberSimulator(s.dir); err != nil {
		return cli.StorageFault("%v", err)
	}
	s.onClose(simulatedProvider.Close)
	s.providers[simulatedProvider.Name()], s.challenges = simulatedProvider, simulatedProvider
	return nil
}

// hasFile tells whether the data directory has a file of this name.
func (s *server) hasFile(name string) (bool, error) {
	_, err := os.Lstat(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, cli.StorageFault("%v", err)
	}
	return true, nil
}

// lineSources returns the adapters whose providers report settlement lines by an API.
func (s *server) lineSources() map[string]actors.LineSource {
	sources := make(map[string]actors.LineSource)
	for name, adapter := range s.providers {
		if source, ok := adapter.(actors.LineSource); ok {
			sources[name] = source
		}
	}
	return sources
}
