package scan

// NotificationCounts counts the transitions of a transaction or a subscription of which its
// merchant is notified.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // of which merchants are notified by default
	Found     uint32 // with a notice
	Removed   uint32 // without a notice, which retention may have removed
}
