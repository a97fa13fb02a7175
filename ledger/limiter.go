package ledger

// Limiter names a bound of the service that refuses requests while it is reached. Metrics count refusals by these names, so they
// never change.
type Limiter string

// The limiters.
const (
	LimitKeyRate        Limiter = "key_rate"        // requests a second of an API key or of a partner's session
	LimitCommands       Limiter = "commands"        // commands that wait for a place
	LimitQueue          Limiter = "queue"           // changes that wait for the journal's writer
	LimitActors         Limiter = "actors"          // messages, jobs and actors
	LimitDisk           Limiter = "disk"            // free space on the disk
	LimitBodies         Limiter = "bodies"          // memory for request bodies
	LimitLogins         Limiter = "logins"          // attempts to log in
	LimitPagePayments   Limiter = "page_payments"   // payments that an address begins on payers' pages
	LimitPageAttempts   Limiter = "page_attempts"   // cards that an address sends on payers' pages
	LimitAggregates     Limiter = "aggregates"      // sums over transactions
	LimitExports        Limiter = "exports"         // exports of the ledger
	LimitUploads        Limiter = "uploads"         // images that are uploaded
	LimitTestDeliveries Limiter = "test_deliveries" // test notifications
)

// Limiters are all limiters.
var Limiters = []Limiter{
	LimitKeyRate, LimitCommands, LimitQueue, LimitActors, LimitDisk, LimitBodies, LimitLogins, LimitPagePayments, LimitPageAttempts,
	LimitAggregates, LimitExports, LimitUploads, LimitTestDeliveries,
}

// By sets the bound that is the reason of a refusal, and returns the refusal.
func (r *Refusal) By(l Limiter) *Refusal {
	r.Limiter = l
	return r
}
