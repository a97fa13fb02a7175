package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mizan/internal/secret"
)

// keysCommands are `mizan keys …`.
type keysCommands struct {
	Rotate rotateCommand   `cmd:"" help:"Add a sealing key; everything is sealed by it from the server's next start on."`
	List   listKeysCommand `cmd:"" help:"List the sealing keys' ids, the oldest first."`
}

// keyringPlace says which keyring: the one that `mizan serve` would use with the
// same flags and environment.
type keyringPlace struct {
	Keyring setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"The keyring; without it the data directory's."`
	Data    setting `name:"data" env:"MIZAN_DATA" standard:"./data" placeholder:"DIR" help:"Data directory; a server may be using it."`
}

// path is the keyring's file.
func (p *keyringPlace) path() (string, error) {
	for _, k := range keys(p) {
		if !k.given {
			k.raw = k.standard
		} else if k.raw == "" {
			return "", badConfiguration(k.name + ": is empty")
		}
	}
	if p.Keyring.given {
		return p.Keyring.raw, nil
	}
	return filepath.Join(p.Data.raw, "keyring"), nil
}

// flagged tells whether a flag names the keyring, and not only the environment.
func (p *keyringPlace) flagged() bool {
	return p.Keyring.given && p.Keyring.raw != os.Getenv("MIZAN_KEYRING") || p.Data.given && p.Data.raw != os.Getenv("MIZAN_DATA")
}

// rotateCommand is `mizan keys rotate`.
type rotateCommand struct {
	keyringPlace
}

// Run implements the command. It needs no lock of the data directory: a server
// reads the keyring when it starts and keeps what it read.
func (c *rotateCommand) Run(s *streams) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	k, err := secret.RotateKeyring(path)
	if err != nil {
		return keyringFault(err)
	}
	list := k.SealingKeys()
	earlier := -1 // the one that was added
	for _, key := range list {
		if key.Enabled {
			earlier++
		}
	}
	_, err = fmt.Fprintf(s.out, "mizan: %s: key %d seals from the server's next start on; earlier keys that open what they sealed: %d\n"+
		"mizan: a running server keeps the keys that it has loaded: restart it; and keep a copy of the keyring as it is now\n",
		path, list[len(list)-1].ID, earlier)
	return err
}

// listKeysCommand is `mizan keys list`.
type listKeysCommand struct {
	keyringPlace
}

// Run implements the command.
func (c *listKeysCommand) Run(s *streams) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	k, err := secret.LoadKeyring(path)
	if err != nil {
		return keyringFault(err)
	}
	if !k.CanSeal() {
		_, err := fmt.Fprintf(s.err, "mizan: %s holds no sealing key; `mizan keys rotate` adds one\n", path)
		return err
	}
	out := bufio.NewWriter(s.out)
	for _, key := range k.SealingKeys() {
		state, role := "disabled", ""
		if key.Enabled {
			state = "enabled"
		}
		if key.Primary {
			role = " primary"
		}
		_, _ = fmt.Fprintf(out, "%d %s%s\n", key.ID, state, role)
	}
	return out.Flush()
}

// keyringFault ends a command: a file that is not there was named wrongly,
// whatever else is wrong with it the command can't mend.
func keyringFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return badConfiguration(err.Error())
	}
	return storageFault("%v", err)
}
