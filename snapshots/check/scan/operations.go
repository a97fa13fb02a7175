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

	Operations // the number of operations
)

// OpenRequest is a transaction's open request to its provider, besides the charge itself. The zero value means that
// there is no open request.
type OpenRequest uint8

// The requests of a transaction.
const (
	NoRequest OpenRequest = iota
	CaptureRequest
	VoidRequest
	LapseRequest // a void because the hold is too old or the payer did not act
	RefundRequest
	LateRefundRequest // the return of money that arrived after the transaction was closed
)

// SimulatorRoute is the route of transactions that are sent to the simulator (the simulated provider). The simulator
// writes a log in the data directory.
const SimulatorRoute = "simulator"
