package maintenance

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"mizan/cmd/mizan/cli"
	"mizan/internal/secret"
)

// KeyringCommand is the command `mizan keyring FILE`, which creates a keyring.
type KeyringCommand struct {
	File string `arg:"" help:"New file for the keys, mode 0600."`
}

// Run implements the command.
func (c *KeyringCommand) Run(*cli.Streams) error {
	_, err := secret.CreateKeyring(c.File, rand.Reader)
	if errors.Is(err, fs.ErrExist) {
		return cli.BadConfiguration("keyring: " + c.File + " is there already")
	}
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}
