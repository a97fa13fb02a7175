package audit

import (
	"fmt"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/config"
	"mizan/internal/secret"
)

// auditKeyCommand is `mizan audit key`.
type auditKeyCommand struct {
	config.KeyringFlags
	client.LedgerFlags
}

// Run implements the command. The key comes from the keyring, or from a server
// that --url or --sandbox names; a server may be using the keyring.
func (c *auditKeyCommand) Run(s *cli.Streams) error {
	if c.URL != nil || c.Sandbox != "" {
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
	k, err := secret.LoadKeyring(path)
	if err != nil {
		return cli.KeyringFault(err)
	}
	_, err = fmt.Fprintln(s.Out, k.VerifierKey())
	return err
}

// sameID tells whether a text is the id, in whatever case it was written.
func sameID(id uuid.UUID, text string) bool {
	other, err := uuid.Parse(text)
	return err == nil && other == id
}
