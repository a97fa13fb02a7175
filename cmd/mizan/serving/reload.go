package serving

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
)

// reloadSignals returns a channel that receives the process's SIGHUPs. After the call a SIGHUP no
// longer ends the process. The channel buffers one signal; further signals are dropped.
func reloadSignals() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// reload handles a SIGHUP: it puts the certificate files, the log level and the access log in force as the configuration
// file, the environment and the flags have them now, or changes nothing if any of them is wrong. It never ends the process.
func (s *server) reload() {
	s.notifySupervisor(supervisorReloading, reloadStart())
	defer s.notifySupervisor(supervisorReady)
	newConfig, err := s.reread()
	if err == nil {
		err = s.reloadCertificate(newConfig)
	}
	if err != nil {
		s.log.Error("SIGHUP: nothing was changed", "reason", reasonOf(err))
		return
	}
	// From here on nothing can fail.
	s.level.Set(newConfig.Level)
	s.accessLog.SetMode(newConfig.AccessLog)
	s.log.Info("SIGHUP: configuration and certificates were read again", "log_level", newConfig.Level.String(), "access_log", newConfig.AccessLog.String())
}

// reloadCertificate reads the files of --tls files again. After an error the old certificate stays in force.
func (s *server) reloadCertificate(newConfig *config.Reloadable) error {
	if s.transport.files == nil {
		return nil
	}
	if err := s.transport.files.Load(newConfig.CertFile, newConfig.KeyFile); err != nil {
		return cli.BadConfiguration("tls-cert: " + err.Error())
	}
	return nil
}

// reasonOf returns the lines of an error as one line.
func reasonOf(err error) string {
	var fault *cli.Fault
	if errors.As(err, &fault) {
		return strings.Join(fault.Lines, "; ")
	}
	return cli.OneLine(err.Error())
}
