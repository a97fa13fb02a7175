package config

import (
	"os"
	"path/filepath"

	"mizan/cmd/mizan/cli"
)

// KeyringFlags name the keyring that `mizan serve` would use with the same flags and
// environment.
type KeyringFlags struct {
	Keyring Setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"The keyring; without it the data directory's."`
	Data    Setting `name:"data" env:"MIZAN_DATA" standard:"./data" placeholder:"DIR" help:"Data directory; a server may be using it."`
}

// Path returns the keyring's file.
func (p *KeyringFlags) Path() (string, error) {
	for _, k := range Keys(p) {
		if !k.IsSet {
			k.Raw = k.Standard
		} else if k.Raw == "" {
			return "", cli.BadConfiguration(k.Name + ": is empty")
		}
	}
	if p.Keyring.IsSet {
		return p.Keyring.Raw, nil
	}
	return filepath.Join(p.Data.Raw, "keyring"), nil
}

// NamedByFlag tells whether a flag names the keyring; false if only the environment does.
func (p *KeyringFlags) NamedByFlag() bool {
	return p.Keyring.IsSet && p.Keyring.Raw != os.Getenv("MIZAN_KEYRING") || p.Data.IsSet && p.Data.Raw != os.Getenv("MIZAN_DATA")
}
