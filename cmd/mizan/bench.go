package main

import "mizan/bench"

// benchCommands are `mizan bench …`.
type benchCommands struct {
	Payments paymentsBench `cmd:"" help:"Load a server with payments."`
	Ledger   ledgerBench   `cmd:"" help:"Load the ledger alone with two-leg transfers."`
}

// paymentsBench is `mizan bench payments`.
type paymentsBench struct{ bench.PaymentsConfig }

// Run implements the command.
func (c *paymentsBench) Run(s *streams) error {
	ctx, stop := interruptible()
	defer stop()
	return bench.Payments(ctx, c.PaymentsConfig, s.out)
}

// ledgerBench is `mizan bench ledger`.
type ledgerBench struct{ bench.LedgerConfig }

// Run implements the command.
func (c *ledgerBench) Run(s *streams) error {
	ctx, stop := interruptible()
	defer stop()
	return bench.Ledger(ctx, c.LedgerConfig, s.out)
}
