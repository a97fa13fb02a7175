package ledger

// Limiter names a limit of the service, such as a rate or the length of a queue. While the limit is reached, requests are
// refused. Metrics count refusals by these names, so the names never change.
type Limiter string

// The limiters.
const (
	LimitKeyRate        Limiter = "key_rate"        // requests a second of an API key or of a partner's session
	LimitCommands       Limiter = "commands"        // commands in the queues, waiting to be processed
	LimitQueue          Limiter = "queue"           // changes that wait for the journal's writer
	LimitActors         Limiter = "actors"          // messages and jobs that wait for actors, and actors that have work
	LimitDisk           Limiter = "disk"            // free space on the disk
	LimitBodies         Limiter = "bodies"          // memory for request bodies
	LimitLogins         Limiter = "logins"          // attempts to log in
	LimitPagePayments   Limiter = "page_payments"   // payments that one IP address begins on payers' pages
	LimitPageAttempts   Limiter = "page_attempts"   // cards that one IP address sends on payers' pages
	LimitAggregates     Limiter = "aggregates"      // requests for sums over transactions
	LimitExports        Limiter = "exports"         // exports of the ledger
	LimitUploads        Limiter = "uploads"         // uploads of images
	LimitTestDeliveries Limiter = "test_deliveries" // test notifications
)

// Limiters are all limiters.
var Limiters = []Limiter{
	LimitKeyRate, LimitCommands, LimitQueue, LimitActors, LimitDisk, LimitBodies, LimitLogins, LimitPagePayments, LimitPageAttempts,
	LimitAggregates, LimitExports, LimitUploads, LimitTestDeliveries,
}

// By sets the service's limit that caused the refusal, and returns the refusal.
func (r *Refusal) By(l Limiter) *Refusal {
	r.Limiter = l
	return r
}
