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

// prepareReload checks one setting's new value and returns the function that puts it in force; nil: there is nothing to
// do. The function can't fail.
type prepareReload func(*server, *config.Reloadable) (apply func(), err error)

// reloads are the settings that a SIGHUP changes. Their values come from the configuration file and the environment;
// what a flag has set stays.
var reloads = []prepareReload{
	(*server).reloadCertificate,
	(*server).reloadLogLevel,
	(*server).reloadAccessLog,
}

// reload handles a SIGHUP: it puts all settings of reloads in force, or none if one of them is wrong. It never ends the
// process.
func (s *server) reload() {
	s.notifySupervisor(supervisorReloading, reloadStart())
	defer s.notifySupervisor(supervisorReady)
	newConfig, err := s.reread()
	if err == nil {
		err = s.applyReloads(newConfig)
	}
	if err != nil {
		s.log.Error("SIGHUP: nothing was changed", "reason", reasonOf(err))
		return
	}
	s.log.Info("SIGHUP: configuration and certificates were read again", "log_level", newConfig.Level.String(), "access_log", newConfig.AccessLog.String())
}

// applyReloads prepares all changes before it makes the first one.
func (s *server) applyReloads(newConfig *config.Reloadable) error {
	var changes []func()
	for _, prepare := range reloads {
		apply, err := prepare(s, newConfig)
		if err != nil {
			return err
		}
		if apply != nil {
			changes = append(changes, apply)
		}
	}
	for _, apply := range changes {
		apply()
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

// reloadCertificate reads the files of --tls files again.
func (s *server) reloadCertificate(newConfig *config.Reloadable) (apply func(), err error) {
	if s.transport.files == nil {
		return nil, nil
	}
	apply, err = s.transport.files.Load(newConfig.CertFile, newConfig.KeyFile)
	if err != nil {
		return nil, cli.BadConfiguration("tls-cert: " + err.Error())
	}
	return apply, nil
}

func (s *server) reloadLogLevel(newConfig *config.Reloadable) (apply func(), err error) {
	return func() { s.level.Set(newConfig.Level) }, nil
}

func (s *server) reloadAccessLog(newConfig *config.Reloadable) (apply func(), err error) {
	return func() { s.accessLog.SetMode(newConfig.AccessLog) }, nil
}
