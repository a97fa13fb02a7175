package ledger

// Limiter is the name of a limit of the service, such as a rate or the length of a queue. While the service is at the limit, it
// refuses requests. Metrics count the refusals under these names, so the names must never change.
type Limiter string

// The limits of the service.
const (
	LimitKeyRate        Limiter = "key_rate"        // requests per second with an API key or a partner's session
	LimitCommands       Limiter = "commands"        // commands that wait in queues
	LimitQueue          Limiter = "queue"           // changes that wait for the journal's writer
	LimitActors         Limiter = "actors"          // messages and jobs that wait for actors, and busy actors
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

// Limiters lists the names of all limits.
var Limiters = []Limiter{
	LimitKeyRate, LimitCommands, LimitQueue, LimitActors, LimitDisk, LimitBodies, LimitLogins, LimitPagePayments, LimitPageAttempts,
	LimitAggregates, LimitExports, LimitUploads, LimitTestDeliveries,
}

// By records which limit of the service caused the refusal, and returns the refusal.
func (r *Refusal) By(l Limiter) *Refusal {
	r.Limiter = l
	return r
}
