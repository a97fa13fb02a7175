package audit

import (
	"fmt"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/config"
	"mizan/internal/secret"
)

// keyCommand is `mizan audit key`.
type keyCommand struct {
	config.KeyringFlags
	client.LedgerFlags
}

// Run implements the command. It prints the public key that verifies the server's signatures. The key comes from the server
// that --url or --sandbox names, or otherwise from the keyring. A running server may be using the keyring.
func (c *keyCommand) Run(s *cli.Streams) error {
	if c.URL != nil || c.Sandbox != nil {
		if c.NamedByFlag() {
			return misused("audit key", "--keyring or --data names a keyring, and --url or --sandbox a server: which of them is meant?")
		}
		server, err := openAudit(&c.LedgerFlags, "audit key", s)
		if err != nil {
			return err
		}
		key, err := server.key()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Out, key)
		return err
	}
	path, err := c.Path()
	if err != nil {
		return err
	}
	keyring, err := secret.LoadKeyring(path)
	if err != nil {
		return cli.KeyringFault(err)
	}
	_, err = fmt.Fprintln(s.Out, keyring.VerifierKey())
	return err
}

// sameID returns whether a text is the id, in upper or lower case.
func sameID(id uuid.UUID, text string) bool {
	parsed, err := uuid.Parse(text)
	return err == nil && parsed == id
}
