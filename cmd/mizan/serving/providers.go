package serving

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mizan/actors/provider/simulator"
	"mizan/actors/provider/utp"
	"mizan/cmd/mizan/cli"
	"mizan/internal/durable"
	"mizan/ledger/directory"
)

// openProviders opens the adapters of the built-in providers: the adapter for other payment platforms and, with --sandbox, the
// simulator.
func (s *server) openProviders(context.Context) error {
	s.openPlatforms()
	if !s.cfg.Sandbox {
		return nil
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

// openSimulator opens the simulated provider with its log. In a sandbox, the log is created before the store's first data. So
// if a sandbox has data but no log, the log was lost.
func (s *server) openSimulator() error {
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
	s.providers[simulatedProvider.Name()], s.simulator = simulatedProvider, simulatedProvider
	return nil
}
