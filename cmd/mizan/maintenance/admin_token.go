package maintenance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	directoryactor "mizan/actors/directory"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/config"
	"mizan/cmd/mizan/serving"
	"mizan/internal/secret"
)

// TokenCommands are the subcommands of `mizan admin-token`.
type TokenCommands struct {
	Rotate rotateTokenCommand `cmd:"" help:"Retire an administration token, and print its successor once."`
}

// rotateTokenCommand is the command `mizan admin-token rotate`. The server may be running or stopped.
type rotateTokenCommand struct {
	Sandbox   string `name:"sandbox" placeholder:"DIR|FILE" help:"A running sandbox, named by its data directory or its sandbox.json, from which server and token are taken."`
	URL       string `name:"url" placeholder:"URL" help:"URL of a running server. The token with which the command authenticates is retired."`
	TokenFile string `name:"token-file" placeholder:"FILE" help:"With --url: file with the token, - is stdin; default: the token in $MIZAN_ADMIN_TOKEN."`
	CAFile    string `name:"ca-file" placeholder:"FILE" help:"With --url: PEM of the authorities to trust, in place of the system's ($MIZAN_CA_FILE)."`
	Data      string `name:"data" placeholder:"DIR" help:"Data directory of a stopped server. All its tokens are retired."`
	Keyring   string `name:"keyring" placeholder:"FILE" help:"With --data: the server's keyring; default: the keyring in the data directory."`

	sandboxToken secret.Text // the admin token in sandbox.json; empty without --sandbox
}

// Run implements the command. It prints only the new token on stdout, so that a script can
// store it.
func (c *rotateTokenCommand) Run(s *cli.Streams) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	if err := c.readServer(); err != nil {
		return err
	}
	rotate, retiredTokens := c.rotateOnline, "the token that was used is retired"
	if c.Data != "" {
		rotate, retiredTokens = c.rotateOffline, "all others are retired"
	}
	token, err := rotate(s)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.Out, string(token)); err != nil {
		return cli.StorageFault("the token can't be shown: %v", err)
	}
	_, err = fmt.Fprintf(s.Err, "mizan: this token is in force and shown this once; %s\n", retiredTokens)
	return err
}

func (c *rotateTokenCommand) checkFlags() error {
	var faults []string
	if c.Sandbox != "" && (c.URL != "" || c.TokenFile != "" || c.CAFile != "") {
		faults = append(faults, "sandbox: names the server and its token: leave out --url, --token-file and --ca-file")
	}
	if (c.URL == "" && c.Sandbox == "") == (c.Data == "") {
		faults = append(faults, "url: give either --url or --sandbox, of a running server, or --data, of a stopped one")
	}
	if c.Data != "" && c.TokenFile != "" {
		faults = append(faults, "token-file: only goes with --url")
	}
	if c.Data != "" && c.CAFile != "" {
		faults = append(faults, "ca-file: only goes with --url")
	}
	if c.Data == "" && c.Keyring != "" {
		faults = append(faults, "keyring: only goes with --data")
	}
	if len(faults) > 0 {
		return cli.BadConfiguration(faults...)
	}
	return nil
}

// readServer takes the server's address and token from the sandbox.json that --sandbox names. Without --sandbox, readServer
// only applies the default of --ca-file: the environment variable MIZAN_CA_FILE, as for all clients.
func (c *rotateTokenCommand) readServer() error {
	if c.Sandbox == "" {
		c.CAFile = cmp.Or(c.CAFile, os.Getenv("MIZAN_CA_FILE"))
		return nil
	}
	server, err := client.ReadSandbox(c.Sandbox)
	if err != nil {
		return cli.BadConfiguration(err.Error())
	}
	c.URL, c.CAFile, c.sandboxToken = server.BaseURL, server.CAFile, secret.Text(server.AdminToken)
	return nil
}

// readToken reads the current token from sandbox.json, the token file or the environment. The token can't be given as a flag,
// because every user of the machine could read it on the command line.
func (c *rotateTokenCommand) readToken() (secret.Text, error) {
	if c.sandboxToken != "" {
		return c.sandboxToken, nil
	}
	name, token := "MIZAN_ADMIN_TOKEN", os.Getenv("MIZAN_ADMIN_TOKEN")
	if c.TokenFile != "" {
		content, err := cli.ReadFileOrStdin(c.TokenFile, config.MaxAdminToken+2)
		if err != nil {
			return "", cli.BadConfiguration("token-file: " + err.Error())
		}
		name, token = "token-file", string(content)
	}
	token = strings.TrimSpace(token)
	switch {
	case token == "" && c.TokenFile == "":
		return "", cli.BadConfiguration("token-file: is needed with --url, or MIZAN_ADMIN_TOKEN in the environment")
	case token == "" || len(token) > config.MaxAdminToken || strings.ContainsFunc(token, config.IsNotTokenRune):
		return "", cli.BadConfiguration(name + ": has to hold one token")
	}
	return secret.Text(token), nil
}

// rotateOffline replaces all administration tokens in the store of a stopped server.
func (c *rotateTokenCommand) rotateOffline(s *cli.Streams) (secret.Text, error) {
	if _, err := os.Stat(filepath.Join(c.Data, "store")); errors.Is(err, fs.ErrNotExist) {
		return "", cli.BadConfiguration("data: " + c.Data + " holds no store")
	}
	return serving.RotateAdminTokens(c.Data, c.openSealer(s), s)
}

// openSealer loads the server's keyring, which decrypts the sealed fields of terminals and partners. If the keyring can't be
// read, the rotation still works and leaves the sealed fields unchanged.
func (c *rotateTokenCommand) openSealer(s *cli.Streams) directoryactor.Sealer {
	path := c.Keyring
	if path == "" {
		path = filepath.Join(c.Data, "keyring")
	}
	keyring, err := secret.LoadKeyring(path)
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "mizan: admin-token: %s: the sealed fields of terminals and partners were left unchanged\n", cli.OneLine(err.Error()))
		return directoryactor.NoKeys
	}
	return keyring
}
