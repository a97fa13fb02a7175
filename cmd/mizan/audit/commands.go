package audit

// Commands are the subcommands of `mizan audit`.
type Commands struct {
	Verify verifyCommand `cmd:"" help:"Recompute everything in a closed store and compare."`

	Key   keyCommand   `cmd:"" help:"Print the key with which heads of the ledger are checked."`
	Prove proveCommand `cmd:"" help:"Write a file that proves one event of the ledger."`
	Check checkCommand `cmd:"" help:"Check such a file, without a server."`

	Record recordCommand `cmd:"" help:"Write the bytes that a closed store holds of a record, which the proof of its last event proves."`

	Watch watchCommand `cmd:"" help:"Make sure that the ledger only grows: remember its last head, and refuse a head that does not extend it."`

	Periods periodCommands `cmd:"" help:"List closed months, close one, or recompute their hashes."`

	Export exportCommand `cmd:"" help:"Write the ledger's entries in a form that other programs read."`
}
