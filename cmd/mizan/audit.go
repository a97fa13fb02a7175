package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/snapshots/check"
)

// auditCommands are `mizan audit …`.
type auditCommands struct {
	Verify verifyCommand `cmd:"" help:"Recompute everything in a closed store and compare."`

	Key   auditKeyCommand `cmd:"" help:"Print the key with which heads of the ledger are checked."`
	Prove proveCommand    `cmd:"" help:"Write a file that proves one event of the ledger."`
	Check checkCommand    `cmd:"" help:"Check such a file, without a server."`

	Record recordCommand `cmd:"" help:"Write the bytes that a closed store holds of a record, which the proof of its last event proves."`

	Watch watchCommand `cmd:"" help:"Make sure that the ledger only grows: remember its last head, and refuse what does not extend it."`

	Periods periodCommands `cmd:"" help:"List closed months, close one, or recompute their hashes."`

	Export exportCommand `cmd:"" help:"Write the ledger's entries in a form that other programs read."`
}

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
func (c *verifyCommand) Run(s *streams) error {
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
	ctx, stop := interruptible()
	defer stop()
	code := check.Verify(ctx, cfg, s.out, s.err)
	if code != exitClean {
		return &fault{code: code}
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
		return keyringFault(err)
	}
	cfg.Keyring, cfg.Bound = k, k.Identity()
	return nil
}

// check runs the checker over the open store before anything is served.
func (s *server) check(ctx context.Context) error {
	if !s.cfg.check {
		return nil
	}
	report, err := check.Check(ctx, s.journal, check.Inputs{Data: s.cfg.dir, Keyring: s.keyring, Log: s.log})
	if ctx.Err() != nil {
		return nil // asked to stop; run sees it
	}
	if err != nil {
		return storageFault("%v", err)
	}
	if _, err := report.WriteTo(s.streams.out); err != nil {
		s.log.Warn("the checker's report can't be printed", "error", err)
	}
	if report.Broken() {
		return storageFault("the checker found the store broken; restore from a backup")
	}
	return nil
}
