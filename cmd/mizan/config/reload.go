package config

import (
	"log/slog"

	"mizan/api/accesslog"
	"mizan/cmd/mizan/cli"
)

// Reloadable holds the keys that may change without a restart.
type Reloadable struct {
	Level             slog.Level
	AccessLog         accesslog.Mode
	CertFile, KeyFile string
}

// Reread reads the configuration file again, if there is one. It checks only the reloadable keys, because files that are needed
// only at the start may no longer exist.
func (c *Flags) Reread() (*Reloadable, error) {
	r := c.readLayers()
	reloaded := &Reloadable{Level: r.level(), AccessLog: r.accessLog(r.flag("sandbox", false)), CertFile: r.text("tls-cert"), KeyFile: r.text("tls-key")}
	if len(r.faults) > 0 {
		return nil, cli.BadConfiguration(r.faults...)
	}
	return reloaded, nil
}
