package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/cli"
)

// groups are the sections of the help overview, one for each kind of user.
var groups = []kong.Group{
	{Key: "developers", Title: "For developers, who connect a shop to a sandbox"},
	{Key: "operators", Title: "For operators, who run a server"},
	{Key: "auditors", Title: "For auditors, who read the ledger and check it"},
	{Key: "banks", Title: "For a bank's staff"},
	{Key: "program", Title: "About this program"},
}

// printHelp is called by kong for the flag --help. If the command line names no command, it prints the overview.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	selected := ctx.Selected()
	if selected == nil {
		return printOverview(ctx)
	}
	for node := selected; node != nil; node = node.Parent {
		node.Group = nil // only the overview shows the headings of groups
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// printOverview prints the commands, group by group. Below each command, it lists the subcommands of that command.
func printOverview(ctx *kong.Context) error {
	const nameWidth = 13
	var b bytes.Buffer
	fmt.Fprintf(&b, "Usage: mizan COMMAND [flags]\n\n%s\n", ctx.Model.Help)
	for i := range groups {
		fmt.Fprintf(&b, "\n%s\n", groups[i].Title)
		for _, node := range ctx.Model.Children {
			if node.Hidden || node.Group == nil || node.Group.Key != groups[i].Key {
				continue
			}
			fmt.Fprintf(&b, "  %-*s%s\n", nameWidth, node.Name, node.Help)
			for _, line := range wrap(subcommands(node), 80-2-nameWidth) {
				fmt.Fprintf(&b, "  %-*s%s\n", nameWidth, "", line)
			}
		}
	}
	b.WriteString("\nmizan help COMMAND, or mizan COMMAND --help, shows the flags; mizan --version\n" +
		"shows the version. In a folder with data/sandbox.json, which a sandbox writes,\n" +
		"commands use that sandbox; --sandbox, --url and --token-file name another one.\n")
	_, err := ctx.Stdout.Write(b.Bytes())
	return err
}

// subcommands returns the names of a command's direct subcommands, in the form "audit verify".
func subcommands(node *kong.Node) (names []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, node.Name+" "+child.Name)
		}
	}
	return names
}

// wrap joins the names with commas and breaks the result into lines of at most width bytes.
func wrap(names []string, width int) (lines []string) {
	line := ""
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != "" && len(line)+1+len(name) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += name
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// helpCommand is `mizan help [COMMAND…]`.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command, such as: admin partners create."`
	JSON    bool     `name:"json" help:"Print all commands and their flags as JSON."`
}

// Run implements the command.
func (c *helpCommand) Run(ctx *kong.Context, s *cli.Streams) error {
	if c.JSON {
		encoder := json.NewEncoder(s.Out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(describe(ctx.Model.Node))
	}
	if len(c.Command) == 0 {
		return printOverview(ctx)
	}
	if _, err := ctx.Kong.Parse(append(c.Command, "--help")); err != nil { // prints the help and ends the process
		return cli.BadConfiguration(err.Error())
	}
	return nil
}

// commandJSON is the description of a command that `mizan help --json` prints for programs.
type commandJSON struct {
	Name     string        `json:"name"`
	Help     string        `json:"help"`
	Group    string        `json:"group,omitempty"`
	Usage    string        `json:"usage"`
	Flags    []flagJSON    `json:"flags,omitempty"`
	Commands []commandJSON `json:"commands,omitempty"`
}

type flagJSON struct {
	Name    string `json:"name"`
	Help    string `json:"help"`
	Default string `json:"default,omitempty"`
}

func describe(node *kong.Node) commandJSON {
	d := commandJSON{Name: node.Name, Help: node.Help, Usage: strings.TrimSpace(node.Name + " " + node.Summary())}
	if node.Parent != nil {
		d.Usage = node.FullPath() + strings.TrimPrefix(node.Summary(), node.Path())
	}
	if node.Group != nil {
		d.Group = node.Group.Key
	}
	for _, flag := range node.Flags {
		if !flag.Hidden {
			d.Flags = append(d.Flags, flagJSON{flag.Name, flag.Help, flag.Default})
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			d.Commands = append(d.Commands, describe(child))
		}
	}
	return d
}

// versionFlag is the flag --version after a command, for example in `mizan serve --version`. `mizan --version` without a
// command is handled by the function withoutShortcuts.
type versionFlag bool

// BeforeReset is called by kong before it checks for missing arguments. It prints the version and ends the process.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if err := (versionCommand{}).Run(&cli.Streams{Out: app.Stdout, Err: app.Stderr}, cli.Version(version)); err != nil {
		return err
	}
	app.Exit(cli.ExitClean)
	return nil
}

// versionCommand prints the version.
type versionCommand struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// Run implements the command.
func (c versionCommand) Run(s *cli.Streams, version cli.Version) error {
	if c.JSON {
		return json.NewEncoder(s.Out).Encode(map[string]string{
			"version": string(version), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(s.Out, "mizan %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
