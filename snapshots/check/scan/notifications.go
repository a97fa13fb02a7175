package scan

// NotificationCounts count the transitions of a transaction, or of a subscription, that its
// merchant is notified of.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // that are notified by default
	Found     uint32 // with a notice
	Removed   uint32 // without a notice, which retention may have removed
}
