package scan

// NotificationCounts counts those transitions of a transaction or a subscription of which the merchant must be
// notified.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // transitions of which merchants are notified by default
	Found     uint32 // transitions that have a notice (stored notification)
	Removed   uint32 // transitions whose notice is missing because retention may have removed it
}
