package audit

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/internal/progress"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/snapshots/check"
)

// verifyCommand is `mizan audit verify`.
type verifyCommand struct {
	Data     string `name:"data" env:"MIZAN_DATA" default:"./data" placeholder:"DIR" help:"Data directory; no server may be using it."`
	Answers  string `name:"answers" placeholder:"FILE" help:"Responses that clients received, one JSON object a line, to compare with the store."`
	Canaries string `name:"canaries" placeholder:"FILE" help:"Texts, one a line, that no file of the data directory may contain."`

	Keyring string `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"The server's keyring, to open stored replies; default: the keyring in the data directory, if there is one."`

	Organization *string `name:"organization" placeholder:"ID" help:"Fail unless the store contains this organization. The whole store is checked in any case."`

	JSON bool `name:"json" help:"Print the report as JSON, one object for each rule."`
}

// Run implements the command. It prints only the checker's report, or the reason why the checker could not run, because scripts
// compare the output.
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
	if err := c.loadKeyring(&cfg); err != nil {
		return err
	}
	cfg.JSON = c.JSON
	ctx, stop := cli.SignalContext()
	defer stop()
	meter := s.Progress("audit verify")
	code := check.Verify(progress.With(ctx, meter), cfg, &progressEndingWriter{meter, s.Out}, &progressEndingWriter{meter, s.Err})
	if code != cli.ExitClean {
		return &cli.Fault{Code: code}
	}
	return nil
}

// progressEndingWriter is a writer that removes the progress meter from the terminal before each write.
type progressEndingWriter struct {
	meter *progress.Meter
	out   io.Writer
}

// Write implements io.Writer.
func (w *progressEndingWriter) Write(p []byte) (int, error) {
	w.meter.End()
	return w.out.Write(p)
}

// loadKeyring loads the keyring. If the flag --keyring names a keyring, that keyring must exist. If there is neither the flag
// nor a keyring in the data directory, sealed (encrypted) fields can only be compared with the journal.
func (c *verifyCommand) loadKeyring(cfg *check.VerifyConfig) error {
	path := c.Keyring
	if path == "" {
		path = filepath.Join(c.Data, "keyring")
	}
	keyring, err := secret.LoadKeyring(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Keyring == "":
		return nil
	case err != nil:
		return cli.KeyringFault(err)
	}
	cfg.Keyring, cfg.KeyringID = keyring, keyring.Identity()
	return nil
}
