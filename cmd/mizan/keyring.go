package main

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"mizan/internal/secret"
)

// keyringCommand is `mizan keyring FILE`.
type keyringCommand struct {
	File string `arg:"" help:"New file for the keys, mode 0600."`
}

// Run implements the command.
func (c *keyringCommand) Run(*streams) error {
	_, err := secret.CreateKeyring(c.File, rand.Reader)
	if errors.Is(err, fs.ErrExist) {
		return badConfiguration("keyring: " + c.File + " is there already")
	}
	if err != nil {
		return storageFault("%v", err)
	}
	return nil
}
