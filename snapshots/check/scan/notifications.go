package scan

// NotificationCounts counts the transitions of a transaction or a subscription of which its
// merchant is notified.
type NotificationCounts struct {
	All       uint32
	ByDefault uint32 // those of which merchants are notified by default
	Found     uint32 // those with a notice
	Removed   uint32 // those without a notice, if retention may have removed it
}
