package contracts

import (
	"slices"
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/snapshots/check/scan"
)

// Rule 3, events of contracts. The events are steps of the machine of the record's product and
// reading. An event has an entry if and only if it moves money, as the product declares for the
// action (contract.Movement). In the religious reading no entry precedes a review.

// Variant is a product in a reading. Events do not name their variant: each event excludes the
// variants whose machines do not have its step.
type Variant struct {
	Product *contract.Product
	Reading *contract.Reading
}

// variantSet is a set of variants, one bit for each.
type variantSet uint32

// stepVariants has the variants whose machines have a step: possible has all of them, mayPost those in
// which the step may have an entry, mustPost those in which it must have one, and byTimer those in which
// only a timer takes the step.
type stepVariants struct{ possible, mayPost, mustPost, byTimer variantSet }

// stepKey identifies a step as an event names it.
type stepKey struct {
	name     contract.Action
	from, to contract.Status
}

func stepOf(e *ledger.Event) stepKey {
	return stepKey{contract.Action(e.Name), contract.Status(e.From), contract.Status(e.To)}
}

// variantStatus is a status of a product's contracts in a reading.
type variantStatus struct {
	product *contract.Product
	reading *contract.Reading
	status  contract.Status
}

var (
	allVariants    []Variant
	allVariantBits variantSet
	reviewFirst    variantSet // the variants that move money only after a review
	variantsByStep = make(map[stepKey]stepVariants)
	emptyStatuses  = make(map[variantStatus]bool) // those in which the contract's own accounts must be empty
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

func addVariant(v Variant) {
	assert.That(len(allVariants) < 32, "snapshots: more variants of products than are told apart")
	bit := variantSet(1) << len(allVariants)
	allVariants = append(allVariants, v)
	allVariantBits |= bit
	if v.Reading.ReviewFirst {
		reviewFirst |= bit
	}
	counterSuffixes[v.Product.Variants[v.Reading].Prefix] = true
	machine := v.Product.Machine(v.Reading)
	for _, from := range machine.States() {
		emptyStatuses[variantStatus{v.Product, v.Reading, from}] = v.Product.HoldsNothing(v.Reading, from)
		for _, name := range machine.Events() {
			step, ok := machine.Next(from, name)
			if !ok {
				continue
			}
			event := v.Product.Event(name)
			key := stepKey{event, from, step.To}
			if from == contract.Absent {
				key.from = ""
			}
			variants := variantsByStep[key]
			variants.possible |= bit
			switch v.Product.Moves(name) {
			case contract.Never:
			case contract.Possibly:
				variants.mayPost |= bit
			case contract.Always:
				variants.mayPost |= bit
				variants.mustPost |= bit
			}
			if handler := v.Product.Handler(event); handler != nil && handler.Timer {
				variants.byTimer |= bit
			}
			variantsByStep[key] = variants
		}
	}
}

// variantOf returns a record's variant. The codec has checked that it exists.
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
	repliedMoments scan.Slab[contractMoment]
	foreignEntries map[ledger.ID]scan.Fingerprint // what entries of other records have posted on accounts that belong to a contract
	lastEvent      contractMoment                 // the contract event that was read last
	numbers        map[string]*numberSet          // prefix of contract numbers → the numbers with it
	contractCounts map[string]uint64              // numbers of contracts, by counterKey

	requiredCounters map[string]uint64 // all counters, by counterKey; nil: not computed yet
	storedCounters   map[string]bool   // the stored counters that were compared, by counterKey

	registers map[ledger.ID]*register // registers of issues that have subscriptions
}

// New begins the check of one organization's contracts.
func New(s *scan.Scan, o *scan.Organization, cachedReplies *scan.Replies) *Check {
	return &Check{
		Scan: s, organization: o, cachedReplies: cachedReplies, foreignEntries: make(map[ledger.ID]scan.Fingerprint), numbers: make(map[string]*numberSet),
		contractCounts: make(map[string]uint64), storedCounters: make(map[string]bool), registers: make(map[ledger.ID]*register),
	}
}

// Lifecycle is what a contract's events and record tell about it in addition to its History. Memory
// holds one for every contract of the store.
type Lifecycle struct {
	variants      variantSet       // the variants that have all steps so far
	asset         uint32           // hash of the asset that the contract has moved; 0: none
	payload       uint64           // hash of the record
	Shared        scan.Fingerprint // fingerprint of the contract's entries on the accounts of control totals
	ownSum        scan.Fingerprint // fingerprint of the contract's entries on its own accounts
	LastAction    contract.Action  // the last event that is neither a continuation nor a batch
	ListHash      uint64           // hash of the rows that lists of parties must have, minus that of the stored rows; 0 at the end of a sound check
	recordVariant variantSet       // the record's variant
	reviewed      bool
	hadEntry      bool // the last event had an entry
	paidNobody    bool // the last action was a distribution that paid nobody
}

// contractMoment is the state of a contract at an event.
type contractMoment struct {
	id    ledger.ID
	seq   uint64
	state uint8
}

// LifecycleOf returns a contract's lifecycle, and creates it if it does not exist.
func (c *Check) LifecycleOf(h *scan.History) *Lifecycle {
	if h.ContractIndex < 0 {
		h.ContractIndex = c.lifecycles.Add(Lifecycle{variants: allVariantBits})
	}
	return c.lifecycles.At(h.ContractIndex)
}

// FollowContract adds an event to a contract's lifecycle. At least one variant must have all
// steps so far, with entries exactly on the steps that move money, and after a review if the
// variant requires one first.
func (c *Check) FollowContract(h *scan.History, e *ledger.Event) {
	l := c.LifecycleOf(h)
	continues := h.Last != 0 && h.Last == e.Seq-1 && l.hadEntry
	l.hadEntry = e.Entry != nil
	l.reviewed = l.reviewed || e.Name == string(contract.Pass)
	c.lastEvent = contractMoment{e.Source.ID, e.Seq, c.organization.Histories.StatesOf(e.Source.Kind).Code(e.To)}
	switch contract.Action(e.Name) {
	case contract.Continue:
		if !continues || e.Entry == nil || e.From != e.To {
			c.EventFault(c.organization.ID, e, "it does not continue the entry of the previous event")
		}
	case contract.Batch:
		if fault := c.followBatch(l, e); fault != "" {
			c.EventFault(c.organization.ID, e, fault)
		}
	default:
		c.beginAction(l, e)
		l.LastAction = contract.Action(e.Name)
		if fault := l.narrowVariants(e); fault != "" {
			c.EventFault(c.organization.ID, e, fault)
		}
	}
	if e.Entry != nil {
		c.followContractEntry(l, e)
	}
}

// narrowVariants removes the variants that do not have the event's step. If no variant would be left it
// returns the reason and removes none; otherwise it returns the empty string.
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
	if e.Entry != nil && !l.reviewed {
		if remaining &^= reviewFirst; remaining == 0 {
			return "it moves money before a review"
		}
	}
	l.variants = remaining
	return ""
}

// firstDay and lastDay bound the day of an entry. A contract's term can be added to the last day and
// the result still has a year of four digits.
var (
	firstDay = ledger.DateOf(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC))
	lastDay  = ledger.DateOf(time.Date(9000, 12, 31, 0, 0, 0, 0, time.UTC))
)

// followContractEntry checks an entry's asset and day.
func (c *Check) followContractEntry(l *Lifecycle, e *ledger.Event) {
	asset := assetHash(c.organization.Histories, e.Entry.Postings[0].Asset)
	switch day := e.Entry.Effective; {
	case !scan.SameAsset(e.Entry.Postings) || l.asset != 0 && l.asset != asset:
		c.EventFault(c.organization.ID, e, "it moves more than one asset")
	case day < firstDay || day > max(lastDay, e.Booked.Date()):
		c.EventFault(c.organization.ID, e, "its entry has an impossible day")
	case day > e.Booked.Date() && l.variants&^variantsByStep[stepOf(e)].byTimer == 0:
		c.EventFault(c.organization.ID, e, "a timer has booked it before its day")
	}
	l.asset = asset
	l.addControlTotals(c.organization.Histories, e.Entry.Postings)
	c.followRegister(l, e)
}

// FollowReply records which contract event precedes a cached reply: the reply shows the contract as it
// was after that event.
func (c *Check) FollowReply(h *scan.History, e *ledger.Event) {
	if c.lastEvent.seq != 0 && c.lastEvent.seq == e.Seq-1 {
		h.ContractIndex = c.repliedMoments.Add(c.lastEvent)
	}
}

// IsScreening tells whether the event is the only event of a screening.
func IsScreening(e *ledger.Event) bool {
	switch contract.Outcome(e.To) {
	case contract.Passed, contract.Failed, contract.Doubtful:
		return e.Name == "screen" && e.From == "" && e.Version == 1
	}
	return false
}
