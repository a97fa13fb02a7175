package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mizan/actors"
	"mizan/actors/directory"
	"mizan/internal/secret"
	"mizan/ledger"
)

// adminTokenCommands are `mizan admin-token …`.
type adminTokenCommands struct {
	Rotate rotateTokenCommand `cmd:"" help:"Retire an administration token and print another, once."`
}

// rotateTokenCommand is `mizan admin-token rotate`.
type rotateTokenCommand struct {
	URL       string `name:"url" placeholder:"URL" help:"A running server: the token that the command is given is retired."`
	TokenFile string `name:"token-file" placeholder:"FILE" help:"With --url: the token, - is stdin; without it MIZAN_ADMIN_TOKEN has it."`
	CAFile    string `name:"ca-file" placeholder:"FILE" help:"With --url: PEM of the authorities to trust, in place of the system's."`
	Data      string `name:"data" placeholder:"DIR" help:"Data directory of a stopped server: all tokens are retired."`
	Keyring   string `name:"keyring" placeholder:"FILE" help:"With --data: the server's keyring; without it the data directory's."`
}

// Run implements the command. The new token is all that it prints on stdout, so
// that a script can keep it.
func (c *rotateTokenCommand) Run(s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	rotate, retired := c.online, "the token that was used is retired"
	if c.Data != "" {
		rotate, retired = c.offline, "all others are retired"
	}
	token, err := rotate(s)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out, string(token)); err != nil {
		return storageFault("the token can't be shown: %v", err)
	}
	_, err = fmt.Fprintf(s.err, "mizan: this token is in force and shown this once; %s\n", retired)
	return err
}

func (c *rotateTokenCommand) check() error {
	var bad []string
	if (c.URL == "") == (c.Data == "") {
		bad = append(bad, "url: give either --url, of a running server, or --data, of a stopped one")
	}
	if c.Data != "" && c.TokenFile != "" {
		bad = append(bad, "token-file: only goes with --url")
	}
	if c.Data != "" && c.CAFile != "" {
		bad = append(bad, "ca-file: only goes with --url")
	}
	if c.URL != "" && c.Keyring != "" {
		bad = append(bad, "keyring: only goes with --data")
	}
	if len(bad) > 0 {
		return badConfiguration(bad...)
	}
	return nil
}

// token is the one that is in force, from the file or the environment: the
// command line would show it to everybody on the machine.
func (c *rotateTokenCommand) token() (secret.Text, error) {
	name, token := "MIZAN_ADMIN_TOKEN", os.Getenv("MIZAN_ADMIN_TOKEN")
	if c.TokenFile != "" {
		content, err := fileOrStdin(c.TokenFile, maxAdminToken+2)
		if err != nil {
			return "", badConfiguration("token-file: " + err.Error())
		}
		name, token = "token-file", string(content)
	}
	token = strings.TrimSpace(token)
	switch {
	case token == "" && c.TokenFile == "":
		return "", badConfiguration("token-file: is needed with --url, or MIZAN_ADMIN_TOKEN in the environment")
	case token == "" || len(token) > maxAdminToken || strings.ContainsFunc(token, notTokenRune):
		return "", badConfiguration(name + ": has to hold one token")
	}
	return secret.Text(token), nil
}

// fileOrStdin reads a file, or stdin for "-", up to a bound.
func fileOrStdin(path string, limit int64) ([]byte, error) {
	if path == "-" {
		return contentOf(os.Stdin, limit)
	}
	return readBounded(path, limit)
}

// offline rotates in the store of a stopped server.
func (c *rotateTokenCommand) offline(s *streams) (secret.Text, error) {
	if _, err := os.Stat(filepath.Join(c.Data, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return "", badConfiguration("data: " + c.Data + " holds no store")
	}
	_, manual, err := readClock(c.Data)
	if err != nil {
		return "", storageFault("%v", err)
	}
	srv := newServer(&config{dir: c.Data, manual: manual}, s)
	token, err := srv.rotateAll(context.Background(), c.sealer(s))
	return token, errors.Join(err, srv.close())
}

// sealer is the server's keyring, which is only read. No token stands in need of
// it: where there is none to be read, whatever is sealed stays as it is.
func (c *rotateTokenCommand) sealer(s *streams) directory.Sealer {
	path := c.Keyring
	if path == "" {
		path = filepath.Join(c.Data, "keyring")
	}
	keyring, err := secret.LoadKeyring(path)
	if err != nil {
		_, _ = fmt.Fprintf(s.err, "mizan: admin-token: %s: what terminals and partners keep sealed was left as it is\n", folded(err.Error()))
		return directory.NoKeys
	}
	return keyring
}

func (s *server) rotateAll(ctx context.Context, sealer directory.Sealer) (secret.Text, error) {
	if err := s.openStore(ctx); err != nil {
		return "", err
	}
	rt := actors.New(actors.Options{Clock: s.clock, Journal: s.journal, Log: s.log})
	s.onClose(func() error { rt.Stop(); return nil })
	var err error
	if s.directory, err = directory.Start(rt, sealer); err != nil {
		return "", storageFault("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, furnishBound)
	defer cancel()
	token, err := s.directory.RotateAllAdminTokens(ctx)
	var refused *ledger.Refusal
	switch {
	case errors.As(err, &refused) && refused.Code == ledger.Conflict:
		return "", badConfiguration("data: " + s.cfg.dir + ": " + refused.Detail)
	case err != nil:
		return "", storageFault("the rotation could not be written down: %v", err)
	}
	if _, demo := s.directory.Sandbox(); demo {
		box := s.storedSandbox()
		box.AdminToken = string(token)
		if err := s.writeSandbox(box); err != nil {
			// The next start mends it; the token must not be lost for that.
			s.log.Warn("sandbox.json can't be written; the next start makes another token for it", "error", err)
		}
	}
	return token, nil
}
