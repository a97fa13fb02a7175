package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/client/admin"
	"mizan/cmd/mizan/client/contracts"
	"mizan/internal/mapfault"
)

// version is what `git describe` said; the Makefile sets it.
var version = "devel"

// commands is the command line.
type commands struct {
	Serve     serveCommand       `cmd:"" help:"Run the server."`
	Admin     admin.Commands     `cmd:"" help:"Administer a running server."`
	Contracts contracts.Commands `cmd:"" help:"Read an organization's contracts."`
	Token     adminTokenCommands `cmd:"" name:"admin-token" help:"Rotate administration tokens."`
	Audit     auditCommands      `cmd:"" help:"Check what the store holds."`
	Backup    backupCommands     `cmd:"" help:"Take a backup of a running server, or verify one."`
	Restore   restoreCommand     `cmd:"" help:"Make a data directory of a backup."`
	Bench     benchCommands      `cmd:"" help:"Measure throughput and latency."`
	Keyring   keyringCommand     `cmd:"" help:"Make the keys that a server outside the sandbox needs."`
	Keys      keysCommands       `cmd:"" help:"List and rotate the keys that seal card numbers."`
	Version   versionCommand     `cmd:"" help:"Print the version."`
}

// streams are where a command prints.
type streams struct {
	out io.Writer
	err io.Writer
}

// run is the process without its exit.
func run(args []string, stdout, stderr io.Writer) int {
	if err := mapfault.Exit(exitStorage, mappedFileFault); err != nil {
		return exitCode(err, stderr)
	}
	var c commands
	parser, err := kong.New(&c,
		kong.Name("mizan"),
		kong.Description("A payment transaction service on a double-entry ledger."),
		kong.Writers(stdout, stderr),
		kong.Exit(os.Exit), // --help
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return exitCode(err, stderr)
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return exitCode(badConfiguration(err.Error()), stderr)
	}
	return exitCode(ofAdmin(chosen.Run(&streams{out: stdout, err: stderr}, &client.Streams{Out: stdout, Err: stderr})), stderr)
}

// versionCommand prints what this binary is.
type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run(s *streams) error {
	_, err := fmt.Fprintf(s.out, "mizan %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
