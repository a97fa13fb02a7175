package audit

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/snapshots/check"
)

// verifyCommand is `mizan audit verify`.
type verifyCommand struct {
	Data     string `name:"data" env:"MIZAN_DATA" default:"./data" placeholder:"DIR" help:"Data directory; no server may be using it."`
	Answers  string `name:"answers" placeholder:"FILE" help:"What a client was answered, a JSON object a line: is it all there?"`
	Canaries string `name:"canaries" placeholder:"FILE" help:"Texts, one a line, that no file may hold."`

	Keyring string `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"The server's, to open what requests with keys were answered with. Without it the data directory's, if there is one."`

	Organization *string `name:"organization" placeholder:"ID" help:"One that the store has to hold. The whole store is checked, with it or without."`
}

// Run implements the command. The checker prints what it found, or why it could
// not look, and nothing beside that: whoever runs it compares what it prints.
func (c *verifyCommand) Run(s *cli.Streams) error {
	var organization ledger.ID
	if c.Organization != nil {
		var err error
		if organization, err = uuid.Parse(*c.Organization); err != nil || organization == (ledger.ID{}) {
			return misused("audit verify", "--organization: %q is not the UUID of an organization", *c.Organization)
		}
	}
	cfg := check.VerifyConfig{
		Data: c.Data, Answers: c.Answers, Canaries: c.Canaries, Organization: organization, Log: slog.New(slog.DiscardHandler),
	}
	if err := c.open(&cfg); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	code := check.Verify(ctx, cfg, s.Out, s.Err)
	if code != cli.ExitClean {
		return &cli.Fault{Code: code}
	}
	return nil
}

// open loads the keyring. Of one that is named nothing may be missing; where none is,
// and none lies in the directory, what is sealed is compared with the journal only.
func (c *verifyCommand) open(cfg *check.VerifyConfig) error {
	path := c.Keyring
	if path == "" {
		path = filepath.Join(c.Data, "keyring")
	}
	k, err := secret.LoadKeyring(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Keyring == "":
		return nil
	case err != nil:
		return cli.KeyringFault(err)
	}
	cfg.Keyring, cfg.Bound = k, k.Identity()
	return nil
}
