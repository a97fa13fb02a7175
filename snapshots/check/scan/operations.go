package scan

// Operation is a kind of call to a provider.
type Operation uint8

const (
	CallCharge Operation = iota
	CallComplete
	CallCapture
	CallVoid
	CallRefund

	Operations
)

// Asking is what a transaction is asking of its provider beside the charge
// itself. The zero value is nothing.
type Asking uint8

const (
	AskingNothing Asking = iota
	AskingCapture
	AskingVoid
	AskingLapse // a void that nobody but the clock wants
	AskingRefund
	AskingGiveBack
)

// SimulatorRoute is the route whose provider keeps a log in the data directory.
const SimulatorRoute = "simulator"
