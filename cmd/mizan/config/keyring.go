package config

import (
	"os"
	"path/filepath"

	"mizan/cmd/mizan/cli"
)

// KeyringFlags determine a keyring's path from the same flags and environment variables as `mizan serve`.
type KeyringFlags struct {
	Keyring Setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"The keyring; default: the keyring in the data directory."`
	Data    Setting `name:"data" env:"MIZAN_DATA" standard:"./data" placeholder:"DIR" help:"Data directory; a server may be using it."`
}

// Path returns the path of the keyring's file.
func (f *KeyringFlags) Path() (string, error) {
	for _, k := range Keys(f) {
		if !k.IsSet {
			k.Raw = k.Standard
		} else if k.Raw == "" {
			return "", cli.BadConfiguration(k.Name + ": is empty")
		}
	}
	if f.Keyring.IsSet {
		return f.Keyring.Raw, nil
	}
	return filepath.Join(f.Data.Raw, "keyring"), nil
}

// NamedByFlag tells whether a flag names the keyring. If only the environment names it, NamedByFlag returns false.
func (f *KeyringFlags) NamedByFlag() bool {
	return f.Keyring.IsSet && f.Keyring.Raw != os.Getenv("MIZAN_KEYRING") || f.Data.IsSet && f.Data.Raw != os.Getenv("MIZAN_DATA")
}
