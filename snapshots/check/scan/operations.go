package scan

// Operation is a kind of call to a provider.
type Operation uint8

// The operations.
const (
	CallCharge Operation = iota
	CallComplete
	CallCapture
	CallVoid
	CallRefund

	Operations
)

// Asking is a transaction's open request to its provider, besides the charge itself. The zero
// value means none.
type Asking uint8

// The requests of a transaction.
const (
	AskingNothing Asking = iota
	AskingCapture
	AskingVoid
	AskingLapse // a void because the hold is too old or the payer did not act
	AskingRefund
	AskingGiveBack
)

// SimulatorRoute is the route whose provider keeps a log in the data directory.
const SimulatorRoute = "simulator"
