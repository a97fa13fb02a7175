package scan

// NotificationCounts count the transitions of a transaction, or of a subscription, of which its
// merchant is notified.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // of which it is, unless its terminal says otherwise
	Found     uint32 // whose notice is there
	Removed   uint32 // whose notice is not, and may have been swept away
}
