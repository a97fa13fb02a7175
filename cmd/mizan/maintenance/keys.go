package maintenance

import (
	"bufio"
	"fmt"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/secret"
)

// KeysCommands are the subcommands of `mizan keys`.
type KeysCommands struct {
	Rotate rotateKeysCommand `cmd:"" help:"Add a sealing key, with which the server seals everything from its next start on."`
	List   listKeysCommand   `cmd:"" help:"List the sealing keys' ids, the oldest first."`
}

// rotateKeysCommand is the command `mizan keys rotate`.
type rotateKeysCommand struct {
	config.KeyringFlags
}

// Run implements the command. The command needs no lock of the data directory, because a server reads the keyring only when it
// starts.
func (c *rotateKeysCommand) Run(s *cli.Streams) error {
	path, err := c.Path()
	if err != nil {
		return err
	}
	keyring, err := secret.RotateKeyring(path)
	if err != nil {
		return cli.KeyringFault(err)
	}
	keys := keyring.SealingKeys()
	earlierKeys := -1 // does not count the key that was just added
	for _, key := range keys {
		if key.IsEnabled {
			earlierKeys++
		}
	}
	_, err = fmt.Fprintf(s.Out, "mizan: %s: key %d seals from the server's next start on; earlier keys, which still open what they sealed: %d\n"+
		"mizan: a running server keeps the keys that it loaded at its start: restart it; and make a new copy of the keyring\n",
		path, keys[len(keys)-1].ID, earlierKeys)
	return err
}

// listKeysCommand is the command `mizan keys list`.
type listKeysCommand struct {
	config.KeyringFlags
	JSON bool `name:"json" help:"Print a JSON object for each key instead of a line."`
}

// Run implements the command.
func (c *listKeysCommand) Run(s *cli.Streams) error {
	path, err := c.Path()
	if err != nil {
		return err
	}
	keyring, err := secret.LoadKeyring(path)
	if err != nil {
		return cli.KeyringFault(err)
	}
	if !keyring.CanSeal() {
		_, err := fmt.Fprintf(s.Err, "mizan: %s holds no sealing key; `mizan keys rotate` adds one\n", path)
		return err
	}
	out := bufio.NewWriter(s.Out)
	for _, key := range keyring.SealingKeys() {
		state, role := "disabled", ""
		if key.IsEnabled {
			state = "enabled"
		}
		if key.IsPrimary {
			role = " primary"
		}
		if c.JSON {
			_, _ = fmt.Fprintf(out, `{"id":%d,"state":%q,"primary":%t}`+"\n", key.ID, state, key.IsPrimary)
			continue
		}
		_, _ = fmt.Fprintf(out, "%d %s%s\n", key.ID, state, role)
	}
	return out.Flush()
}
