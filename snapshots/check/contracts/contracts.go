package contracts

import (
	"slices"
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/snapshots/check/scan"
)

// Rule 3, events of contracts. They are steps of one product's machine in one reading,
// those of the record, with entries where money moves and nowhere else; in the religious
// reading no entry comes before a review.

// Variant is a product in a reading. Events don't say of which one they are: each
// leaves of all variants those that it fits.
type Variant struct {
	Product *contract.Product
	Reading *contract.Reading
}

// variants are a set of them, a bit each.
type variantSet uint32

// fitting says which variants have a step, and of these which may have an entry on it
// and which must.
type fitting struct{ has, may, must variantSet }

// stepKey is a step as an event names it.
type stepKey struct {
	name     contract.Action
	from, to contract.Status
}

var (
	allVariants  []Variant
	everyVariant variantSet
	reviewFirst  variantSet // those in which no money moves before a review
	fittings     = make(map[stepKey]fitting)
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

func addVariant(f Variant) {
	assert.That(len(allVariants) < 32, "snapshots: more variants of products than are told apart")
	bit := variantSet(1) << len(allVariants)
	allVariants = append(allVariants, f)
	everyVariant |= bit
	if f.Reading.ReviewFirst {
		reviewFirst |= bit
	}
	prefixes[f.Product.Variants[f.Reading].Prefix] = true
	machine := f.Product.Machine(f.Reading)
	for _, from := range machine.States() {
		for _, name := range machine.Events() {
			step, ok := machine.Next(from, name)
			if !ok {
				continue
			}
			at := stepKey{f.Product.Event(name), from, step.To}
			if from == contract.Absent {
				at.from = ""
			}
			fits := fittings[at]
			fits.has |= bit
			switch contractEntries[f.Product][name] {
			case scan.MayPost:
				fits.may |= bit
			case scan.MustPost:
				fits.may |= bit
				fits.must |= bit
			}
			fittings[at] = fits
		}
	}
}

// variantOf is a record's variant, which the codec knows to be there.
func variantOf(r *contract.Record) variantSet {
	return 1 << slices.Index(allVariants, Variant{r.Product, r.Reading})
}

// contractEntries are POSTINGS' tables of contracts, copied by hand: which events
// move money always, and which only where there is some to move. What is not in
// them never does.
var contractEntries = map[*contract.Product]map[contract.Action]scan.EntryRule{
	contract.Certificate: {
		contract.Subscribe: scan.MustPost, contract.Activate: scan.MustPost, contract.Profit: scan.MustPost,
		contract.Redeem: scan.MustPost, contract.RedeemEarly: scan.MustPost, contract.Default: scan.MustPost,
	},
	contract.Partnership: {
		contract.Fund: scan.MustPost, contract.Profit: scan.MayPost, contract.Loss: scan.MustPost, contract.Rent: scan.MayPost,
		contract.Buyout: scan.MustPost, contract.BuyoutDone: scan.MustPost, contract.Dissolve: scan.MayPost,
	},
	contract.Lease: {
		contract.Acquire: scan.MustPost, contract.Activate: scan.MayPost, contract.RentDue: scan.MustPost, contract.PayRent: scan.MustPost,
		contract.RecordArrears: scan.MayPost, contract.BearExpense: scan.MustPost, contract.ReturnAsset: scan.MustPost,
		contract.TransferAsset: scan.MustPost, contract.Terminate: scan.MustPost,
	},
	contract.Managed: {
		contract.Fund: scan.MustPost, contract.Profit: scan.MayPost, contract.Loss: scan.MustPost, contract.Liquidate: scan.MustPost, contract.Complete: scan.MustPost,
	},
	contract.Deposit: {
		contract.Activate: scan.MustPost, contract.Profit: scan.MayPost, contract.Loss: scan.MayPost, contract.Renew: scan.MayPost,
		contract.Withdraw: scan.MustPost, contract.Close: scan.MayPost, // a withdrawn one was paid when it was
	},
	contract.InstalmentSale: {
		contract.OrderAsset: scan.MayPost, contract.PurchaseAsset: scan.MustPost, contract.DeliverAsset: scan.MustPost, contract.Activate: scan.MustPost,
		contract.RecordPayment: scan.MustPost, contract.PayOff: scan.MustPost, contract.RecordDelinquency: scan.MayPost,
		contract.Cancel: scan.MayPost, contract.SettleEarly: scan.MustPost,
	},
	contract.Safekeeping: {
		contract.Activate: scan.MustPost, contract.PutIn: scan.MustPost, contract.Withdraw: scan.MustPost, contract.GrantHibah: scan.MustPost, contract.Close: scan.MayPost,
	},
}

// Check compares an organization's contracts, as they are stored, with their
// events, and with its accounts, lists and counters.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	kept         *scan.Replies

	lifecycles scan.Slab[Lifecycle]
	replies    scan.Slab[momentOf]
	strays     map[ledger.ID]scan.Fingerprint // what others' entries have put on a contract's own accounts
	last       momentOf                       // the contract's event that was read last
	numbers    map[string]*numberRun          // by the prefix of the sequence
	counted    map[string]uint64              // by counterKey, those of products

	wanted   map[string]uint64 // by counterKey, all; nil: not made yet
	compared map[string]bool   // counters that there are

	registers map[ledger.ID]*register // of issues that somebody has subscribed to
}

func New(s *scan.Scan, o *scan.Organization, kept *scan.Replies) *Check {
	return &Check{
		Scan: s, organization: o, kept: kept, strays: make(map[ledger.ID]scan.Fingerprint), numbers: make(map[string]*numberRun),
		counted: make(map[string]uint64), compared: make(map[string]bool), registers: make(map[ledger.ID]*register),
	}
}

// Lifecycle is what a contract's events tell beside its history, and what its record
// says: there is one for every contract of the store.
type Lifecycle struct {
	variants    variantSet       // that all events so far fit
	asset       uint32           // hash of what it has moved; 0: nothing
	payload     uint64           // hash of its record
	Shared      scan.Fingerprint // of its entries on the accounts of tallies
	kept        scan.Fingerprint // and of those on its own accounts
	LastAction  contract.Action  // its last event, but for those that go on with it and for batches
	ListBalance uint64           // of the lists of people: what it must be in less what it is in
	own         variantSet       // its record's
	reviewed    bool
	entered     bool // its last event had an entry
	nothing     bool // what it did last was a distribution of which nobody got anything
}

// momentOf is a contract as it was at an event.
type momentOf struct {
	id    ledger.ID
	seq   uint64
	state uint8
}

// LifecycleOf is a contract's life.
func (c *Check) LifecycleOf(h *scan.History) *Lifecycle {
	if h.ContractIndex < 0 {
		h.ContractIndex = c.lifecycles.Add(Lifecycle{variants: everyVariant})
	}
	return c.lifecycles.At(h.ContractIndex)
}

// FollowContract lets a contract's life follow an event: there must be a product and
// a reading whose machine has all of its steps so far, with entries on those that
// move money and on no others, and where a review comes first behind one.
func (j *Check) FollowContract(h *scan.History, e *ledger.Event) {
	l := j.LifecycleOf(h)
	behind := h.Last != 0 && h.Last == e.Seq-1 && l.entered
	l.entered = e.Entry != nil
	l.reviewed = l.reviewed || e.Name == string(contract.Pass)
	j.last = momentOf{e.Source.ID, e.Seq, j.organization.Histories.StatesOf(e.Source.Kind).Code(e.To)}
	switch contract.Action(e.Name) {
	case contract.Continue:
		if !behind || e.Entry == nil || e.From != e.To {
			j.EventFault(j.organization.ID, e, "it does not go on with the entry of the event before")
		}
	case contract.Batch:
		if what := j.followBatch(l, e); what != "" {
			j.EventFault(j.organization.ID, e, what)
		}
	default:
		j.beginAction(l, e)
		l.LastAction = contract.Action(e.Name)
		if what := l.take(e); what != "" {
			j.EventFault(j.organization.ID, e, what)
		}
	}
	if e.Entry != nil {
		j.followContractEntry(l, e)
	}
}

// take narrows the variants that a life fits. It says why none is left; empty: some are.
func (l *Lifecycle) take(e *ledger.Event) string {
	step := fittings[stepKey{contract.Action(e.Name), contract.Status(e.From), contract.Status(e.To)}]
	fit := l.variants & step.has
	if fit == 0 {
		return "no product's machine has the steps up to it"
	}
	if e.Entry == nil {
		fit &^= step.must
	} else {
		fit &= step.may
	}
	if fit == 0 && e.Entry == nil {
		return "it has no entry"
	}
	if fit == 0 {
		return "its entry is not one of such an event"
	}
	if e.Entry != nil && !l.reviewed {
		if fit &^= reviewFirst; fit == 0 {
			return "it moves money before a review"
		}
	}
	l.variants = fit
	return ""
}

// The days between which somebody can date an entry: what a term adds to the last one
// stays within the calendar's four digits.
var (
	firstDay = ledger.DateOf(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC))
	lastDay  = ledger.DateOf(time.Date(9000, 12, 31, 0, 0, 0, 0, time.UTC))
)

// followContractEntry checks of which asset an entry is, and on which day.
func (j *Check) followContractEntry(l *Lifecycle, e *ledger.Event) {
	asset := assetHash(j.organization.Histories, e.Entry.Postings[0].Asset)
	switch on := e.Entry.Effective; {
	case !scan.SameAsset(e.Entry.Postings) || l.asset != 0 && l.asset != asset:
		j.EventFault(j.organization.ID, e, "it moves more than one asset")
	case on < firstDay || on > max(lastDay, e.Booked.Date()):
		j.EventFault(j.organization.ID, e, "its entry is of no day")
	case on > e.Booked.Date() && (e.Name == string(contract.Rent) || e.Name == string(contract.RentDue)):
		j.EventFault(j.organization.ID, e, "time has booked it before its day")
	}
	l.asset = asset
	l.AddControlTotals(j.organization.Histories, e.Entry.Postings)
	j.followRegister(l, e)
}

// FollowReply notes behind which contract's event a reply is: it shows the contract as
// it was then.
func (j *Check) FollowReply(h *scan.History, e *ledger.Event) {
	if j.last.seq != 0 && j.last.seq == e.Seq-1 {
		h.ContractIndex = j.replies.Add(j.last)
	}
}

// IsScreening tells whether the event is that of a screening, which has but one.
func IsScreening(e *ledger.Event) bool {
	switch contract.Outcome(e.To) {
	case contract.Passed, contract.Failed, contract.Doubtful:
		return e.Name == "screen" && e.From == "" && e.Version == 1
	}
	return false
}
