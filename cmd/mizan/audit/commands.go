package audit

// Commands are the subcommands of `mizan audit`.
type Commands struct {
	Verify verifyCommand `cmd:"" help:"Check the store of a stopped server: recompute all of its values and compare."`

	Key   keyCommand   `cmd:"" help:"Print the public key that verifies the signed heads of the ledger."`
	Prove proveCommand `cmd:"" help:"Write a file that proves one event of the ledger."`
	Check checkCommand `cmd:"" help:"Verify a proof file, without a server."`

	Record recordCommand `cmd:"" help:"Write the stored bytes of a record, for audit check --record. The server must be stopped."`

	Watch watchCommand `cmd:"" help:"Verify that the ledger only grows: store its last signed head, and refuse a head that does not extend it."`

	Periods periodCommands `cmd:"" help:"List closed months, close one, or recompute their hashes."`

	Export exportCommand `cmd:"" help:"Export the ledger's entries to a format of other programs."`
}
