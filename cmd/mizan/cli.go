package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/audit"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client/admin"
	"mizan/cmd/mizan/client/contracts"
	"mizan/cmd/mizan/client/developer"
	ledgerclient "mizan/cmd/mizan/client/ledger"
	"mizan/cmd/mizan/client/reconcile"
	"mizan/cmd/mizan/clustering"
	"mizan/cmd/mizan/config"
	"mizan/cmd/mizan/maintenance"
	"mizan/cmd/mizan/serving"
	"mizan/cmd/mizan/simulator"
	"mizan/internal/mapfault"
)

// version is the output of `git describe`; the Makefile sets it.
var version = "devel"

// commands is the table of subcommands from which kong parses the command line. The group of a command is its section of the
// help overview; see the variable groups.
type commands struct {
	ShowVersion versionFlag `name:"version" hidden:"" help:"Print the version."`

	Pay     developer.Pay     `cmd:"" group:"developers" help:"Make a payment in a sandbox."`
	Listen  developer.Listen  `cmd:"" group:"developers" help:"Show notifications as they happen, and forward them."`
	Trigger developer.Trigger `cmd:"" group:"developers" help:"Make an event happen in a sandbox."`
	Clock   developer.Clock   `cmd:"" group:"developers" help:"Show or move the clock of a sandbox."`

	Serve     serving.Command            `cmd:"" group:"operators" help:"Run the server; --sandbox starts one with test data."`
	Admin     admin.Commands             `cmd:"" group:"operators" help:"Administer a running server."`
	Backup    maintenance.BackupCommands `cmd:"" group:"operators" help:"Take a backup of a running server, or verify one."`
	Restore   maintenance.RestoreCommand `cmd:"" group:"operators" help:"Create a data directory from a backup."`
	Keyring   maintenance.KeyringCommand `cmd:"" group:"operators" help:"Create the keyring that a server without --sandbox needs."`
	Keys      maintenance.KeysCommands   `cmd:"" group:"operators" help:"List and rotate the keys that seal card numbers."`
	Token     maintenance.TokenCommands  `cmd:"" group:"operators" name:"admin-token" help:"Rotate administration tokens."`
	Simulator simulator.Command          `cmd:"" group:"operators" help:"Run the simulated provider by itself, for several servers."`
	Cluster   clustering.Commands        `cmd:"" group:"operators" help:"Run a cluster of several nodes."`
	Bench     benchCommands              `cmd:"" group:"operators" help:"Measure throughput and latency."`

	Ledger    ledgerclient.Commands `cmd:"" group:"auditors" help:"Read an organization's ledger."`
	Reconcile reconcile.Commands    `cmd:"" group:"auditors" help:"Compare settlement reports of providers with the ledger."`
	Audit     audit.Commands        `cmd:"" group:"auditors" help:"Check the store; prove, watch and export the ledger."`

	Contracts contracts.Commands `cmd:"" group:"banks" help:"Read an organization's contracts."`

	Help       helpCommand       `cmd:"" group:"program" help:"List the commands, or show the flags of one."`
	Version    versionCommand    `cmd:"" group:"program" help:"Print the version."`
	Completion completionCommand `cmd:"" group:"program" help:"Print the script for completion in bash, zsh or fish."`
	Man        manCommand        `cmd:"" group:"program" help:"Print the manual page."`
}

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	cli.RedirectLibraryLog(stderr)
	if err := mapfault.ExitOnFault(cli.ExitStorage, cli.MappedFileFault); err != nil {
		return cli.ReportExit(err, stderr)
	}
	table := commands{Admin: admin.New()}
	parser, err := kong.New(&table,
		kong.Name("mizan"),
		kong.Description("A payment transaction service on a double-entry ledger."),
		kong.Writers(stdout, stderr),
		kong.Exit(os.Exit), // kong calls os.Exit after it has printed the text for --help
		kong.ValueFormatter(config.Describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(printHelp),
		kong.ExplicitGroups(groups),
	)
	if err != nil {
		return cli.ReportExit(err, stderr)
	}
	completeWords(parser)
	command, err := parser.Parse(withoutShortcuts(args))
	if err != nil {
		return cli.ReportExit(cli.BadConfiguration(err.Error()), stderr)
	}
	return cli.ReportExit(command.Run(&cli.Streams{Out: stdout, Err: stderr}, cli.Version(version)), stderr)
}

// withoutShortcuts replaces two short forms by the commands that they stand for: `mizan` without arguments becomes `mizan
// help`, and `mizan --version` becomes `mizan version`.
func withoutShortcuts(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"help"}
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}
