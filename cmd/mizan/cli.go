package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/audit"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client/admin"
	"mizan/cmd/mizan/client/contracts"
	"mizan/cmd/mizan/config"
	"mizan/cmd/mizan/maintenance"
	"mizan/cmd/mizan/serving"
	"mizan/internal/mapfault"
)

// version is the output of `git describe`; the Makefile sets it.
var version = "devel"

// commands is the table of subcommands, with which kong parses the command line.
type commands struct {
	Serve     serving.Command            `cmd:"" help:"Run the server."`
	Admin     admin.Commands             `cmd:"" help:"Administer a running server."`
	Contracts contracts.Commands         `cmd:"" help:"Read an organization's contracts."`
	Token     maintenance.TokenCommands  `cmd:"" name:"admin-token" help:"Rotate administration tokens."`
	Audit     audit.Commands             `cmd:"" help:"Check the store, and tools for auditors."`
	Backup    maintenance.BackupCommands `cmd:"" help:"Take a backup of a running server, or verify one."`
	Restore   maintenance.RestoreCommand `cmd:"" help:"Make a data directory of a backup."`
	Bench     benchCommands              `cmd:"" help:"Measure throughput and latency."`
	Keyring   maintenance.KeyringCommand `cmd:"" help:"Make the keys that a server outside the sandbox needs."`
	Keys      maintenance.KeysCommands   `cmd:"" help:"List and rotate the keys that seal card numbers."`
	Version   versionCommand             `cmd:"" help:"Print the version."`
}

// run carries out the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	cli.TakeLibraryLog(stderr)
	if err := mapfault.ExitOnFault(cli.ExitStorage, cli.MappedFileFault); err != nil {
		return cli.ReportExit(err, stderr)
	}
	table := commands{Admin: admin.New()}
	parser, err := kong.New(&table,
		kong.Name("mizan"),
		kong.Description("A payment transaction service on a double-entry ledger."),
		kong.Writers(stdout, stderr),
		kong.Exit(os.Exit), // called after --help
		kong.ValueFormatter(config.Describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return cli.ReportExit(err, stderr)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return cli.ReportExit(cli.BadConfiguration(err.Error()), stderr)
	}
	return cli.ReportExit(command.Run(&cli.Streams{Out: stdout, Err: stderr}, cli.Version(version)), stderr)
}

// versionCommand prints the version.
type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run(s *cli.Streams, version cli.Version) error {
	_, err := fmt.Fprintf(s.Out, "mizan %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
