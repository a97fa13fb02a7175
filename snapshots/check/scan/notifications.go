package scan

// NotificationCounts has numbers of a transaction's or a subscription's transitions of which the merchant is notified.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // transitions of which merchants are notified by default
	Found     uint32 // transitions that have a notice (stored notification)
	Removed   uint32 // transitions without a notice, which retention may have removed
}
