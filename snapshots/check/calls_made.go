package check

// operation is a kind of call to a provider.
type operation uint8

const (
	callCharge operation = iota
	callComplete
	callCapture
	callVoid
	callRefund

	operations
)

// asking is what a transaction is asking of its provider beside the charge
// itself. The zero value is nothing.
type asking uint8

const (
	asksNothing asking = iota
	toCapture
	toVoid
	toLapse // a void that nobody but the clock wants
	toRefund
	toGiveBack
)
