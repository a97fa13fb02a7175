package simulator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	providersimulator "mizan/actors/provider/simulator"
	"mizan/actors/provider/simulator/remote"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/internal/filelock"
	"mizan/internal/secret"
)

// stopTimeout is how long requests in progress may continue after SIGTERM.
const stopTimeout = 15 * time.Second

// Names of files in the data directory.
const (
	logName   = "simulator.log"
	lockName  = "LOCK"     // the name of a server's lock file too
	storeName = "IDENTITY" // only the data directory of a server has this file
)

// Command is the command `mizan simulator`.
type Command struct{ config.SimulatorFlags }

// Run serves the simulator until a signal requests a stop.
func (c *Command) Run(s *cli.Streams) (err error) {
	cfg, err := c.Read()
	if err != nil {
		return err
	}
	keyring, err := secret.LoadKeyring(cfg.Keyring)
	if err != nil {
		return cli.BadConfiguration("keyring: " + err.Error())
	}
	ctx, stop := cli.SignalContext()
	defer stop()
	unlock, err := lockDirectory(cfg.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	simulator, err := open(cfg, keyring, s)
	if err != nil {
		return err
	}
	err = serve(ctx, cfg, simulator, s)
	if closeErr := simulator.Close(); closeErr != nil && err == nil {
		err = cli.StorageFault("%v", closeErr)
	}
	return err
}

// lockDirectory creates the data directory if it does not exist, and locks it.
func lockDirectory(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	switch _, err := os.Lstat(filepath.Join(dir, storeName)); {
	case err == nil:
		return nil, cli.BadConfiguration("data: " + dir + " is the data directory of a server; the simulator needs one of its own")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, cli.StorageFault("%v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	if err := filelock.Try(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, filelock.ErrHeld) {
			return nil, cli.InUse("%s: the data directory is in use by another process", dir)
		}
		return nil, cli.StorageFault("locking %s: %v", f.Name(), err)
	}
	return func() { _ = filelock.Release(f) }, nil // nothing was written
}

// open opens the simulator with its log.
func open(cfg *config.Simulator, keyring *secret.Keyring, s *cli.Streams) (*providersimulator.Simulator, error) {
	simulator, err := providersimulator.Open(providersimulator.Options{
		Path: filepath.Join(cfg.Dir, logName), Clock: clock.Real{}, BaseURL: cfg.BaseURL, Key: keyring.Derive("simulator challenge"),
		OnSyncFailure: func(err error) {
			cli.ReportExit(cli.StorageFault("%s could not be synced: all calls fail until mizan simulator is started again: %v", logName, err), s.Err)
		},
		OnDamage: func(err error) { os.Exit(cli.ReportExit(cli.StorageFault("%v", err), s.Err)) },
	})
	if err != nil {
		return nil, cli.StorageFault("%v; restore from a backup", err)
	}
	if err := durable.SyncDir(cfg.Dir); err != nil { // the log may be new
		return nil, cli.StorageFault("%v", errors.Join(err, simulator.Close()))
	}
	return simulator, nil
}

// serve serves the simulator until ctx ends.
func serve(ctx context.Context, cfg *config.Simulator, simulator *providersimulator.Simulator, s *cli.Streams) error {
	listener, err := net.Listen("tcp", cfg.Listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.BadConfiguration("listen: " + cfg.Listen + " is in use by another process")
	case err != nil:
		return cli.BadConfiguration("listen: " + err.Error())
	}
	server := remote.NewServer(simulator, clock.Real{})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if _, err := fmt.Fprintf(s.Out, "mizan: simulator ready on %s\n", listener.Addr()); err != nil {
		_ = listener.Close() // the process ends
		return cli.StorageFault("the address can't be shown: %v", err)
	}
	select {
	case err := <-ended:
		return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: the listener broke: " + cli.OneLine(fmt.Sprint(err))}}
	case <-ctx.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stopCtx); err != nil {
		_, _ = fmt.Fprintf(s.Err, "mizan: requests were cut off: %s\n", cli.OneLine(err.Error()))
	}
	return nil
}
