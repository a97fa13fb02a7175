package main

import (
	"mizan/bench"
	"mizan/bench/cluster"
	"mizan/cmd/mizan/cli"
)

// benchCommands are the subcommands of `mizan bench`. They are implemented in package bench.
type benchCommands struct {
	Payments  paymentsBench  `cmd:"" help:"Load a server with payments."`
	Contracts contractsBench `cmd:"" help:"Load a server with contracts, from their creation to their end."`
	Cluster   clusterBench   `cmd:"" help:"Compare one server with clusters of three nodes under payments, and predict the rate of larger ones."`
	Soak      soakBench      `cmd:"" help:"Fill a server's store with payments and report every minute."`
	Ledger    ledgerBench    `cmd:"" help:"Load the ledger alone with two-leg transfers."`
	Access    accessBench    `cmd:"" help:"Compare the response times for several kinds of invalid keys."`
	Echo      echoBench      `cmd:"" hidden:"" help:"Echo requests on a loopback port, for payments --against-floor."`
}

// paymentsBench is `mizan bench payments`.
type paymentsBench struct{ bench.PaymentsConfig }

// Run implements the command.
func (c *paymentsBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Payments(ctx, c.PaymentsConfig, s.Out)
}

// contractsBench is `mizan bench contracts`.
type contractsBench struct{ bench.ContractsConfig }

// Run implements the command.
func (c *contractsBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Contracts(ctx, c.ContractsConfig, s.Out)
}

// clusterBench is `mizan bench cluster`.
type clusterBench struct{ cluster.Config }

// Run implements the command.
func (c *clusterBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Cluster(ctx, c.Config, s.Out, s.Err)
}

// soakBench is `mizan bench soak`.
type soakBench struct{ bench.SoakConfig }

// Run implements the command.
func (c *soakBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Soak(ctx, c.SoakConfig, s.Out)
}

// ledgerBench is `mizan bench ledger`.
type ledgerBench struct{ bench.LedgerConfig }

// Run implements the command.
func (c *ledgerBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Ledger(ctx, c.LedgerConfig, s.Out)
}

// accessBench is `mizan bench access`.
type accessBench struct{ bench.AccessConfig }

// Run implements the command.
func (c *accessBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Access(ctx, c.AccessConfig, s.Out)
}

// echoBench is `mizan bench echo`. It is started by `mizan bench payments --against-floor`.
type echoBench struct{}

// Run implements the command.
func (*echoBench) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	return bench.Echo(ctx, s.Out)
}
