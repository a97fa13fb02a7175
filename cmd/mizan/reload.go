package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// reloadSignals are the process's SIGHUPs. From now on none ends it, to its last
// moment. One that comes before anybody takes it is kept; further ones count as it.
func reloadSignals() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// reloadable is what a running server reads again: the keys that may change without
// a restart.
type reloadable struct {
	level             slog.Level
	certFile, keyFile string
}

// reread reads the configuration file, if there is one, and of all keys judges only
// the reloadable ones: a file that only the start needed may be gone.
func (c *serveCommand) reread() (*reloadable, error) {
	r := c.layers()
	again := &reloadable{level: r.level(), certFile: r.text("tls-cert"), keyFile: r.text("tls-key")}
	if len(r.bad) > 0 {
		return nil, badConfiguration(r.bad...)
	}
	return again, nil
}

// reload answers a SIGHUP: all of it, or nothing where something is wrong. It never
// ends the process.
func (s *server) reload() {
	again, err := s.reread()
	if err == nil {
		err = s.transport.reload(again.certFile, again.keyFile)
	}
	if err != nil {
		var bad *fault
		if !errors.As(err, &bad) {
			bad = &fault{lines: []string{err.Error()}}
		}
		for _, line := range bad.lines {
			s.log.Error("SIGHUP: nothing was changed", "reason", line)
		}
		return
	}
	s.level.Set(again.level)
	s.log.Info("SIGHUP: configuration and certificates were read again", "log_level", again.level.String())
}
