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

// reloadSignals returns a channel that receives the SIGHUPs sent to the process. After the call, a SIGHUP no longer ends the
// process. The channel buffers one signal; further signals are dropped.
func reloadSignals() <-chan os.Signal {
	sighups := make(chan os.Signal, 1)
	signal.Notify(sighups, syscall.SIGHUP)
	return sighups
}

// reload handles a SIGHUP. It reads the configuration again and applies the new certificate files, log level and access log
// mode. If any of these settings is invalid, reload changes nothing. It never ends the process.
func (p *process) reload() {
	p.notifySupervisor(supervisorReloading, reloadStart())
	defer p.notifySupervisor(supervisorReady)
	newConfig, err := p.reread()
	if err == nil {
		err = p.reloadCertificate(newConfig)
	}
	if err != nil {
		p.log.Error("SIGHUP: nothing was changed", "reason", reasonOf(err))
		return
	}
	// After this line nothing can fail.
	p.level.Set(newConfig.Level)
	p.accessLog.SetMode(newConfig.AccessLog)
	p.log.Info("SIGHUP: configuration and certificates were read again", "log_level", newConfig.Level.String(), "access_log", newConfig.AccessLog.String())
}

// reloadCertificate reads the certificate and its key again if --tls is files. If that fails, the old certificate stays in use.
func (p *process) reloadCertificate(newConfig *config.Reloadable) error {
	if p.transport.files == nil {
		return nil
	}
	if err := p.transport.files.Load(newConfig.CertFile, newConfig.KeyFile); err != nil {
		return cli.BadConfiguration("tls-cert: " + err.Error())
	}
	return nil
}

// reasonOf returns an error as one line of text.
func reasonOf(err error) string {
	var fault *cli.Fault
	if errors.As(err, &fault) {
		return strings.Join(fault.Lines, "; ")
	}
	return cli.OneLine(err.Error())
}
