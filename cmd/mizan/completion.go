package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/muesli/roff"
	"github.com/posener/complete"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client/developer"
)

// completeWords prints the completions that a shell requests, and then ends the process. A shell that requests completions sets
// the environment variable COMP_LINE. If COMP_LINE is not set, completeWords does nothing.
func completeWords(parser *kong.Kong) {
	if os.Getenv("COMP_LINE") != "" {
		kongcompletion.Register(parser, kongcompletion.WithPredictor("event", complete.PredictSet(developer.EventNames()...)))
	}
}

// completionCommand is `mizan completion SHELL`.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	JSON  bool   `name:"json" help:"Print the script as a JSON object."`
}

// Help returns a text that is shown above the list of arguments.
func (completionCommand) Help() string {
	return "In bash: source <(mizan completion bash). In zsh: source <(mizan completion zsh). In fish: mizan completion fish | source. To keep the completion, add the" +
		" line to the shell's startup file, such as ~/.bashrc."
}

// Run implements the command.
func (c *completionCommand) Run(ctx *kong.Context, s *cli.Streams) error {
	code := new(captured)
	capturing := *ctx
	kongOfCode := *ctx.Kong
	// The library's Run calls Exit to end the process, so Exit is replaced by a function that does nothing.
	kongOfCode.Stdout, kongOfCode.Exit = code, func(int) {}
	capturing.Kong = &kongOfCode
	if err := (&kongcompletion.Completion{Shell: c.Shell, Code: true}).Run(&capturing); err != nil {
		return err
	}
	return printText(s, c.JSON, string(*code))
}

// captured is a writer that collects output in memory.
type captured []byte

// Write implements io.Writer.
func (c *captured) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}

// manCommand is `mizan man`.
type manCommand struct {
	JSON bool `name:"json" help:"Print the page as a JSON object."`
}

// Help returns a text that is shown above the list of flags.
func (manCommand) Help() string {
	return "The page is in roff, the language of man: mizan man | man -l -"
}

const manDescription = "Mizan is a service for payments and for contracts of participatory finance, on one double-entry ledger. `mizan serve --sandbox`" +
	" starts a server with test data, and `mizan pay` makes a payment there. The commands below are clients of a running server, tools" +
	" for its operators and auditors, and the server itself. `mizan help` groups them by their users."

// Run implements the command.
func (c *manCommand) Run(ctx *kong.Context, s *cli.Streams) error {
	page := *ctx.Model
	page.Detail = manDescription
	return printText(s, c.JSON, mangokong.NewManPage(1, &page).Build(roff.NewDocument()))
}

// printText prints a text. If asJSON is true, it prints a JSON object whose member "text" is the text.
func printText(s *cli.Streams, asJSON bool, text string) error {
	if asJSON {
		encoder := json.NewEncoder(s.Out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(map[string]string{"text": text})
	}
	_, err := fmt.Fprint(s.Out, text)
	return err
}
