package providersuite

import (
	"log/slog"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Feature is something that a rail may lack. The tests that need it are then skipped.
type Feature string

// The features.
const (
	Charges            Feature = "charges"             // payments: money in
	Payouts            Feature = "payouts"             // money out
	Holds              Feature = "holds"               // a payment is held first, then captured in whole or released
	PartialCaptures    Feature = "partial captures"    // a part of a held amount is captured
	Refunds            Feature = "refunds"             // a charged payment is refunded, in whole or in parts
	PayerActions       Feature = "payer actions"       // the payer has to act before the charge
	Declines           Feature = "declines"            // the rail refuses some charges (or payouts, if it has no charges)
	SlowCharges        Feature = "slow charges"        // the rail needs time for some charges (or payouts)
	Reversals          Feature = "reversals"           // the rail takes a charged payment back
	Returns            Feature = "returns"             // a payout comes back after it was paid
	LateCharges        Feature = "late charges"        // a payer's money moves after the core has given the charge up, and the adapter reports it
	LatePayouts        Feature = "late payouts"        // the same for a payout
	Preparations       Feature = "preparations"        // calls before the charge that move no money
	Credentials        Feature = "credentials"         // a terminal may have wrong credentials
	Connections        Feature = "connections"         // there is a connection that can be refused and cut
	RepeatedCalls      Feature = "repeated calls"      // a repeated submission repeats the first one's result
	OperationInquiries Feature = "operation inquiries" // the outcome of a lost capture, void or refund can be inquired
)

// Rail describes an adapter and the network behind it.
type Rail struct {
	Name  string      // the adapter's name, as in a terminal's field provider
	Asset money.Asset // the asset in which the tests move money
	Lacks map[Feature]string

	// Start starts the rail's stand-in, once for a run of the suite. The clock is the rail's business clock. The stand-in ends
	// with the test.
	Start func(tb testing.TB, c *clock.Manual) StandIn
}

// AdapterOptions are what an adapter gets when it is opened.
type AdapterOptions struct {
	Dir       string // a directory of the core, for adapters that run inside it; it survives restarts
	Clock     clock.Clock
	Log       *slog.Logger
	Timeout   time.Duration
	Terminals func() []*directory.Terminal // the terminals of the adapter
}

// TerminalOptions say what a terminal is for.
type TerminalOptions struct {
	Kind             directory.TerminalType
	TwoPhase         bool // charges are held first
	WrongCredentials bool // the rail does not accept the terminal's credentials
}

// Behaviour is what the rail does with a charge or a payout.
type Behaviour int

// The behaviours.
const (
	Succeeds Behaviour = iota
	IsDeclined
	TakesTime  // succeeds later
	NeedsPayer // succeeds after the payer has approved it (Act)
	ComesBack  // succeeds, and is taken back or returned after TakeBack
)

// Instrument is what a charge is paid with or where a payout goes to.
type Instrument struct {
	Method string // a money_storage type
	Card   *secret.Card
}

// Disturbance is a fault on the way to the rail and back.
type Disturbance int

// The disturbances.
const (
	LostBefore Disturbance = iota // the call does not arrive, and the connection breaks
	LostAfter                     // the rail acts, and the connection breaks before the first byte of the answer
	CutAnswer                     // the rail acts, and the connection breaks in the middle of the answer
	HangBefore                    // the call does not arrive, and no answer comes before the provider time-out
	HangAfter                     // the rail acts, and no answer comes before the provider time-out
	Refused                       // connections are refused
)

var disturbances = []struct {
	Disturbance
	name string
}{
	{LostBefore, "lost before it arrives"}, {LostAfter, "answer lost"}, {CutAnswer, "answer cut"},
	{HangBefore, "silence, not done"}, {HangAfter, "silence, done"}, {Refused, "connection refused"},
}

// Target says which calls a fault disturbs.
type Target int

// The targets.
const (
	Submissions Target = iota // calls that may move money
	Inquiries
	Preparing // calls before a charge that move no money
)

// Fault disturbs the next Times calls of the target, after Skip others; Times -1: all calls until Heal.
type Fault struct {
	Disturbance
	Target
	Times, Skip int
}

// Movements is the money that the rail says has moved or is held for one reference. Each list has one amount per movement, so a
// list with two charges is a double charge.
type Movements struct {
	Held      []money.Amount // authorised, and neither captured nor released
	Charged   []money.Amount // what was taken from the payer: the captured amounts
	Refunded  []money.Amount // what a refund has given back
	PaidOut   []money.Amount
	TakenBack []money.Amount // charged money that was taken back, or paid-out money that came back
}

// StandIn is a running rail. Its methods are called from one goroutine.
type StandIn interface {
	// Open opens the adapter. It is called at the start of each core and after each kill. The function that it returns closes
	// the adapter.
	Open(o AdapterOptions) (adapter actors.Provider, closeAdapter func() error)
	// Terminal returns the draft of a terminal, with Provider and ProviderParams set.
	Terminal(o TerminalOptions) directory.Terminal
	// Instrument returns an instrument with which the rail behaves so.
	Instrument(kind payment.Type, b Behaviour) Instrument
	// Act lets the payer approve or refuse what the record asks for. It returns the object to submit, or nil if the payer
	// comes back from the rail's page.
	Act(r *payment.Record, approve bool) (material []byte)
	// Disturb plans a fault. Heal ends all faults; calls that hang end too, and those that had not arrived never do.
	Disturb(f Fault)
	Heal()
	// Advanced is called after the rail's clock has moved, before the core's clock does.
	Advanced(now time.Time)
	// TakeBack takes settled money back, or returns a payout.
	TakeBack(r *payment.Record)
	// MoveLate moves the money of a charge or payout that the core has given up.
	MoveLate(r *payment.Record, terminal *directory.Terminal)
	// Moved returns the movements since Start, by reference.
	Moved() map[ledger.ID]Movements
	// SecretFree returns the rail's own directories that must not contain a card number. It may be nil.
	SecretFree() []string
}
