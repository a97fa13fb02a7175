package contracts

import (
	"slices"
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks events of contracts. A contract product is offered in
// two forms, called readings: secular and religious. Each event must be a step of the state machine that the contract's
// product has for the contract's reading. An event has an entry if and only if it moves money. The product declares
// which actions move money (contract.MovesMoney). In the religious reading, no entry may precede a review.

// Variant is a contract product in one of its readings. An event does not name the variant of its contract. Therefore
// each event excludes those variants whose state machines do not have the event's step.
type Variant struct {
	Product *contract.Product
	Reading *contract.Reading
}

// variantSet is a set of variants, with one bit for each element of allVariants.
type variantSet uint32

// stepVariants tells which variants have a certain step of a state machine. possible is the set of all variants with this step.
// mayPost is the set of variants in which the step may have an entry, and mustPost the set of variants in which it must have an
// entry. byTimer is the set of variants in which only a timer takes the step.
type stepVariants struct{ possible, mayPost, mustPost, byTimer variantSet }

// stepKey identifies a step of a state machine by the event's name and by the states before and after the event.
type stepKey struct {
	name     contract.Action
	from, to contract.Status
}

func stepOf(e *ledger.Event) stepKey {
	return stepKey{contract.Action(e.Name), contract.Status(e.From), contract.Status(e.To)}
}

// variantStatus is a status of contracts, together with their product and reading.
type variantStatus struct {
	product *contract.Product
	reading *contract.Reading
	status  contract.Status
}

var (
	allVariants    []Variant
	allVariantBits variantSet
	reviewFirst    variantSet // the variants in which money may move only after a review
	variantsByStep = make(map[stepKey]stepVariants)
	emptyStatuses  = make(map[variantStatus]bool) // whether all of a contract's own accounts must be empty in this status
)

func init() {
	for _, p := range contract.Products {
		for _, reading := range contract.Readings {
			if p.Variants[reading] != nil {
				addVariant(Variant{p, reading})
			}
		}
	}
}

func addVariant(variant Variant) {
	assert.That(len(allVariants) < 32, "snapshots: more variants of products than are told apart")
	bit := variantSet(1) << len(allVariants)
	allVariants = append(allVariants, variant)
	allVariantBits |= bit
	if variant.Reading.ReviewFirst {
		reviewFirst |= bit
	}
	counterSuffixes[variant.Product.Variants[variant.Reading].Prefix] = true
	machine := variant.Product.Machine(variant.Reading)
	for _, from := range machine.States() {
		emptyStatuses[variantStatus{variant.Product, variant.Reading, from}] = variant.Product.HasNoBalances(variant.Reading, from)
		for _, name := range machine.Events() {
			step, ok := machine.Next(from, name)
			if !ok {
				continue
			}
			event := variant.Product.Event(name)
			key := stepKey{event, from, step.To}
			if from == contract.Absent {
				key.from = ""
			}
			variants := variantsByStep[key]
			variants.possible |= bit
			switch variant.Product.Moves(name) {
			case contract.Never:
			case contract.Possibly:
				variants.mayPost |= bit
			case contract.Always:
				variants.mayPost |= bit
				variants.mustPost |= bit
			}
			if handler := variant.Product.Handler(event); handler != nil && handler.Timer {
				variants.byTimer |= bit
			}
			variantsByStep[key] = variants
		}
	}
}

// variantOf returns the variant of a contract, as a set with one element. The variant exists, because the decoder has
// checked the contract's product and reading.
func variantOf(r *contract.Record) variantSet {
	return 1 << slices.Index(allVariants, Variant{r.Product, r.Reading})
}

// Check compares an organization's stored contracts with their events, and with the
// organization's accounts, lists and counters.
type Check struct {
	*scan.Scan
	organization  *scan.Organization
	cachedReplies *scan.Replies

	lifecycles     scan.Slab[Lifecycle]
	repliedMoments scan.Slab[contractMoment]      // for each cached reply to a contract request, the contract event whose result the reply shows
	foreignEntries map[ledger.ID]scan.Fingerprint // contract's id → fingerprint of the postings on the contract's own accounts by events of other records
	lastEvent      contractMoment                 // the contract event that was read last
	numbers        map[string]*numberSet          // prefix of contract numbers → all contract numbers with this prefix
	contractCounts map[string]uint64              // counterKey → number of contracts that the counter must count

	requiredCounters map[string]uint64 // counterKey → value that the counter must have; nil until computed
	storedCounters   map[string]bool   // counterKey → whether the stored counter has been compared

	registers map[ledger.ID]*register // contract's id → register of an issue of certificates
}

// New returns a Check for one organization's contracts.
func New(s *scan.Scan, o *scan.Organization, cachedReplies *scan.Replies) *Check {
	return &Check{
		Scan: s, organization: o, cachedReplies: cachedReplies, foreignEntries: make(map[ledger.ID]scan.Fingerprint), numbers: make(map[string]*numberSet),
		contractCounts: make(map[string]uint64), storedCounters: make(map[string]bool), registers: make(map[ledger.ID]*register),
	}
}

// Lifecycle summarizes the events and the record of a contract, in addition to the contract's scan.History. Memory holds one
// Lifecycle for every contract of the organization.
type Lifecycle struct {
	variants      variantSet       // the variants whose state machines have all steps so far
	assetHash     uint32           // hash of the asset that the contract has moved; 0 if it has moved nothing
	payloadHash   uint64           // hash of the record's payload
	SharedSum     scan.Fingerprint // fingerprint of the contract's entries on the accounts that its control totals sum up
	ownSum        scan.Fingerprint // fingerprint of the contract's entries on its own accounts
	LastAction    contract.Action  // the last event that is neither a continuation (a further entry of an action) nor a batch (an action for some holders)
	ListHash      uint64           // hashes of the list rows that the contract requires, minus the hashes of its stored list rows; 0 if the lists are right
	recordVariant variantSet       // the record's variant
	wasReviewed   bool
	hadEntry      bool // whether the last event had an entry
	paidNobody    bool // whether the last action was a distribution that paid nobody
}

// contractMoment is the state of a contract right after one of its events.
type contractMoment struct {
	id    ledger.ID
	seq   uint64
	state uint8
}

// LifecycleOf returns a contract's lifecycle. If the lifecycle does not exist yet, LifecycleOf creates it.
func (c *Check) LifecycleOf(h *scan.History) *Lifecycle {
	if h.ContractIndex < 0 {
		h.ContractIndex = c.lifecycles.Add(Lifecycle{variants: allVariantBits})
	}
	return c.lifecycles.At(h.ContractIndex)
}

// FollowContract adds an event to a contract's lifecycle. It reports a fault unless there is a variant that has all
// steps so far, with entries on exactly those steps that move money. If a variant requires a review first, no entry may
// precede the review.
func (c *Check) FollowContract(h *scan.History, e *ledger.Event) {
	lifecycle := c.LifecycleOf(h)
	continues := h.LastSeq != 0 && h.LastSeq == e.Seq-1 && lifecycle.hadEntry
	lifecycle.hadEntry = e.Entry != nil
	lifecycle.wasReviewed = lifecycle.wasReviewed || e.Name == string(contract.Approve)
	c.lastEvent = contractMoment{e.Source.ID, e.Seq, c.organization.Histories.StatesOf(e.Source.Kind).Code(e.To)}
	switch contract.Action(e.Name) {
	case contract.Continue:
		if !continues || e.Entry == nil || e.From != e.To {
			c.EventFault(c.organization.ID, e, "it does not continue the entry of the previous event")
		}
	case contract.Batch:
		if fault := c.followBatch(lifecycle, e); fault != "" {
			c.EventFault(c.organization.ID, e, fault)
		}
	default:
		c.beginAction(lifecycle, e)
		lifecycle.LastAction = contract.Action(e.Name)
		if fault := lifecycle.narrowVariants(e); fault != "" {
			c.EventFault(c.organization.ID, e, fault)
		}
	}
	if e.Entry != nil {
		c.followContractEntry(lifecycle, e)
	}
}

// narrowVariants removes the variants that do not have the event's step. If this would remove all variants,
// narrowVariants removes none and returns the reason. Otherwise it returns an empty string.
func (l *Lifecycle) narrowVariants(e *ledger.Event) string {
	step := variantsByStep[stepOf(e)]
	remaining := l.variants & step.possible
	if remaining == 0 {
		return "no product's machine has the steps up to it"
	}
	if e.Entry == nil {
		remaining &^= step.mustPost
	} else {
		remaining &= step.mayPost
	}
	if remaining == 0 && e.Entry == nil {
		return "it has no entry"
	}
	if remaining == 0 {
		return "its entry is not one of such an event"
	}
	if e.Entry != nil && !l.wasReviewed {
		if remaining &^= reviewFirst; remaining == 0 {
			return "it moves money before a review"
		}
	}
	l.variants = remaining
	return ""
}

// firstDay and lastDay are the bounds for the day of an entry. If a contract's term begins on lastDay, the year of its
// end still has four digits.
var (
	firstDay = ledger.DateOf(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC))
	lastDay  = ledger.DateOf(time.Date(9000, 12, 31, 0, 0, 0, 0, time.UTC))
)

// followContractEntry checks an entry's asset and day, and adds the entry to the contract's sums.
func (c *Check) followContractEntry(lifecycle *Lifecycle, e *ledger.Event) {
	asset := assetHash(c.organization.Histories, e.Entry.Postings[0].Asset)
	switch day := e.Entry.Effective; {
	case !scan.SameAsset(e.Entry.Postings) || lifecycle.assetHash != 0 && lifecycle.assetHash != asset:
		c.EventFault(c.organization.ID, e, "it moves more than one asset")
	case day < firstDay || day > max(lastDay, e.Booked.Date()):
		c.EventFault(c.organization.ID, e, "its entry has an impossible day")
	case day > e.Booked.Date() && lifecycle.variants&^variantsByStep[stepOf(e)].byTimer == 0:
		c.EventFault(c.organization.ID, e, "a timer has booked it before its day")
	}
	lifecycle.assetHash = asset
	lifecycle.addControlTotals(c.organization.Histories, e.Entry.Postings)
	c.followRegister(lifecycle, e)
}

// FollowReply is called with the event of a cached reply. It records which contract event directly precedes the reply's
// event: the reply shows the contract as it was after the contract event.
func (c *Check) FollowReply(h *scan.History, e *ledger.Event) {
	if c.lastEvent.seq != 0 && c.lastEvent.seq == e.Seq-1 {
		h.ContractIndex = c.repliedMoments.Add(c.lastEvent)
	}
}

// IsScreening tells whether the event is the event of a screening. A screening has only one event.
func IsScreening(e *ledger.Event) bool {
	switch contract.Outcome(e.To) {
	case contract.Passed, contract.Failed, contract.NeedsReview:
		return e.Name == "screen" && e.From == "" && e.Version == 1
	}
	return false
}
