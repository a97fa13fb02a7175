package config

import (
	"net/url"

	"mizan/actors/provider/simulator/remote"
	"mizan/cmd/mizan/cli"
)

// SimulatorFlags are the flags of `mizan simulator`.
type SimulatorFlags struct {
	Data    Setting `name:"data" env:"MIZAN_SIMULATOR_DATA" placeholder:"DIR" help:"Data directory of the simulator; not that of a server."`
	Listen  Setting `name:"listen" env:"MIZAN_SIMULATOR_LISTEN" standard:"127.0.0.1:8444" placeholder:"ADDR" help:"Address of this machine (loopback) to serve on; port 0 picks a free one."`
	Keyring Setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"Keyring, from which the key of the challenge pages is derived; usually that of the servers."`
	BaseURL Setting `name:"base-url" env:"MIZAN_BASE_URL" placeholder:"URL" help:"URL at which payers reach a server, without a path; challenge pages are there."`
}

// Simulator is the checked configuration of `mizan simulator`.
type Simulator struct {
	Dir     string
	Listen  string // an address with a loopback host
	Keyring string
	BaseURL string
}

// Read reads and checks every flag. The error has one line for each bad flag.
func (f *SimulatorFlags) Read() (*Simulator, error) {
	r := newReader()
	r.addKeys(Keys(f))
	cfg := &Simulator{Dir: r.text("data"), Listen: r.address("listen"), Keyring: r.readableFile("keyring"), BaseURL: r.origin("base-url")}
	if cfg.Listen != "" && !IsLoopback(cfg.Listen) {
		r.reportBad("listen", "%q is not an address of this machine only, such as 127.0.0.1:8444; the simulator serves any caller without encryption", cfg.Listen)
	}
	for _, name := range []string{"data", "keyring", "base-url"} {
		if !r.settings[name].IsSet {
			r.reportBad(name, "is required")
		}
	}
	if len(r.faults) > 0 {
		return nil, cli.BadConfiguration(r.faults...)
	}
	return cfg, nil
}

// simulatorURL reads the address of a simulator's process.
func (r *reader) simulatorURL(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	address, err := remote.ParseURL(raw)
	if err != nil {
		r.reportBad(name, "%v", err)
		return ""
	}
	return (&url.URL{Scheme: "http", Host: address}).String()
}
