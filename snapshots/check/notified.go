package check

// tellings count the transitions of a transaction, or of a subscription, of which its
// merchant is notified.
type tellings struct {
	all       uint32
	byDefault uint32 // of which it is, unless its terminal says otherwise
	found     uint32 // whose notice is there
	swept     uint32 // whose notice is not, and may have been swept away
}
