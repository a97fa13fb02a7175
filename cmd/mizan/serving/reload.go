package serving

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"mizan/cmd/mizan/cli"
)

// reloadSignals returns a channel that receives the process's SIGHUPs. After the call a SIGHUP no
// longer ends the process. The channel buffers one signal; further signals are dropped.
func reloadSignals() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// reload handles a SIGHUP: it applies all configuration keys that can be reloaded, or none if one of them is
// wrong. It never ends the process.
func (s *server) reload() {
	newConfig, err := s.reread()
	if err == nil {
		err = s.transport.reload(newConfig.CertFile, newConfig.KeyFile)
	}
	if err != nil {
		var fault *cli.Fault
		if !errors.As(err, &fault) {
			fault = &cli.Fault{Lines: []string{err.Error()}}
		}
		for _, line := range fault.Lines {
			s.log.Error("SIGHUP: nothing was changed", "reason", line)
		}
		return
	}
	s.level.Set(newConfig.Level)
	s.accessLog.SetMode(newConfig.AccessLog)
	s.log.Info("SIGHUP: configuration and certificates were read again", "log_level", newConfig.Level.String(), "access_log", newConfig.AccessLog.String())
}
