package check

import (
	"slices"
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
)

// variant is a product in a reading. Events don't say of which one they are: each
// leaves of all variants those that it fits.
type variant struct {
	product *contract.Product
	reading *contract.Reading
}

// variants are a set of them, a bit each.
type variantSet uint32

// fitting says which variants have a step, and of these which may have an entry on it
// and which must.
type fitting struct{ has, may, must variantSet }

// stepped is a step as an event names it.
type stepped struct {
	name     contract.Action
	from, to contract.Status
}

var (
	allVariants  []variant
	everyVariant variantSet
	reviewFirst  variantSet // those in which no money moves before a review
	facesOf      = make(map[stepped]fitting)
)

func init() {
	for _, p := range contract.Products {
		for _, reading := range contract.Readings {
			if p.Variants[reading] != nil {
				addVariant(variant{p, reading})
			}
		}
	}
}

func addVariant(f variant) {
	assert.That(len(allVariants) < 32, "snapshots: more variants of products than are told apart")
	bit := variantSet(1) << len(allVariants)
	allVariants = append(allVariants, f)
	everyVariant |= bit
	if f.reading.ReviewFirst {
		reviewFirst |= bit
	}
	prefixes[f.product.Variants[f.reading].Prefix] = true
	machine := f.product.Machine(f.reading)
	for _, from := range machine.States() {
		for _, name := range machine.Events() {
			step, ok := machine.Next(from, name)
			if !ok {
				continue
			}
			at := stepped{f.product.Event(name), from, step.To}
			if from == contract.Absent {
				at.from = ""
			}
			fits := facesOf[at]
			fits.has |= bit
			switch contractEntries[f.product][name] {
			case mayPost:
				fits.may |= bit
			case posts:
				fits.may |= bit
				fits.must |= bit
			}
			facesOf[at] = fits
		}
	}
}

// variantOf is a record's variant, which the codec knows to be there.
func variantOf(r *contract.Record) variantSet {
	return 1 << slices.Index(allVariants, variant{r.Product, r.Reading})
}

// contractEntries are POSTINGS' tables of contracts, copied by hand: which events
// move money always, and which only where there is some to move. What is not in
// them never does.
var contractEntries = map[*contract.Product]map[contract.Action]carries{
	contract.Certificate: {
		contract.Subscribe: posts, contract.Activate: posts, contract.Profit: posts,
		contract.Redeem: posts, contract.RedeemEarly: posts, contract.Default: posts,
	},
	contract.Partnership: {
		contract.Fund: posts, contract.Profit: mayPost, contract.Loss: posts, contract.Rent: mayPost,
		contract.Buyout: posts, contract.BuyoutDone: posts, contract.Dissolve: mayPost,
	},
	contract.Lease: {
		contract.Acquire: posts, contract.Activate: mayPost, contract.RentDue: posts, contract.PayRent: posts,
		contract.RecordArrears: mayPost, contract.BearExpense: posts, contract.ReturnAsset: posts,
		contract.TransferAsset: posts, contract.Terminate: posts,
	},
	contract.Managed: {
		contract.Fund: posts, contract.Profit: mayPost, contract.Loss: posts, contract.Liquidate: posts, contract.Complete: posts,
	},
	contract.Deposit: {
		contract.Activate: posts, contract.Profit: mayPost, contract.Loss: mayPost, contract.Renew: mayPost,
		contract.Withdraw: posts, contract.Close: mayPost, // a withdrawn one was paid when it was
	},
	contract.InstalmentSale: {
		contract.OrderAsset: mayPost, contract.PurchaseAsset: posts, contract.DeliverAsset: posts, contract.Activate: posts,
		contract.RecordPayment: posts, contract.PayOff: posts, contract.RecordDelinquency: mayPost,
		contract.Cancel: mayPost, contract.SettleEarly: posts,
	},
	contract.Safekeeping: {
		contract.Activate: posts, contract.PutIn: posts, contract.Withdraw: posts, contract.GrantHibah: posts, contract.Close: mayPost,
	},
}

// contractsCheck compares an organization's contracts, as they are stored, with their
// events, and with its accounts, lists and counters.
type contractsCheck struct {
	*scan
	organization *organization
	kept         *replies

	lives   slab[life]
	replies slab[then]
	strays  map[ledger.ID]meaning // what others' entries have put on a contract's own accounts
	last    then                  // the contract's event that was read last
	numbers map[string]*run       // by the prefix of the sequence
	counted map[string]uint64     // by counterKey, those of products

	wanted   map[string]uint64 // by counterKey, all; nil: not made yet
	compared map[string]bool   // counters that there are

	registers map[ledger.ID]*register // of issues that somebody has subscribed to
}

func newContractsCheck(s *scan, o *organization, kept *replies) *contractsCheck {
	return &contractsCheck{
		scan: s, organization: o, kept: kept, strays: make(map[ledger.ID]meaning), numbers: make(map[string]*run),
		counted: make(map[string]uint64), compared: make(map[string]bool), registers: make(map[ledger.ID]*register),
	}
}

// life is what a contract's events tell beside its history, and what its record
// says: there is one for every contract of the store.
type life struct {
	variants variantSet      // that all events so far fit
	asset    uint32          // hash of what it has moved; 0: nothing
	payload  uint64          // hash of its record
	shared   meaning         // of its entries on the accounts of tallies
	kept     meaning         // and of those on its own accounts
	did      contract.Action // its last event, but for those that go on with it and for batches
	people   uint64          // of the lists of people: what it must be in less what it is in
	own      variantSet      // its record's
	reviewed bool
	entered  bool // its last event had an entry
	nothing  bool // what it did last was a distribution of which nobody got anything
}

// then is a contract as it was at an event.
type then struct {
	id    ledger.ID
	seq   uint64
	state uint8
}

// lifeOf is a contract's life.
func (c *contractsCheck) lifeOf(h *history) *life {
	if h.contract < 0 {
		h.contract = c.lives.add(life{variants: everyVariant})
	}
	return c.lives.at(h.contract)
}

// followContract lets a contract's life follow an event: there must be a product and
// a reading whose machine has all of its steps so far, with entries on those that
// move money and on no others, and where a review comes first behind one.
func (j *contractsCheck) followContract(h *history, e *ledger.Event) {
	l := j.lifeOf(h)
	behind := h.last != 0 && h.last == e.Seq-1 && l.entered
	l.entered = e.Entry != nil
	l.reviewed = l.reviewed || e.Name == string(contract.Pass)
	j.last = then{e.Source.ID, e.Seq, j.organization.histories.statesOf(e.Source.Kind).code(e.To)}
	switch contract.Action(e.Name) {
	case contract.Continue:
		if !behind || e.Entry == nil || e.From != e.To {
			j.wrongEvent(j.organization.id, e, "it does not go on with the entry of the event before")
		}
	case contract.Batch:
		if what := j.followBatch(l, e); what != "" {
			j.wrongEvent(j.organization.id, e, what)
		}
	default:
		j.beginAction(l, e)
		l.did = contract.Action(e.Name)
		if what := l.take(e); what != "" {
			j.wrongEvent(j.organization.id, e, what)
		}
	}
	if e.Entry != nil {
		j.followContractEntry(l, e)
	}
}

// take narrows the variants that a life fits. It says why none is left; empty: some are.
func (l *life) take(e *ledger.Event) string {
	step := facesOf[stepped{contract.Action(e.Name), contract.Status(e.From), contract.Status(e.To)}]
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
func (j *contractsCheck) followContractEntry(l *life, e *ledger.Event) {
	asset := assetHash(j.organization.histories, e.Entry.Postings[0].Asset)
	switch on := e.Entry.Effective; {
	case !sameAsset(e.Entry.Postings) || l.asset != 0 && l.asset != asset:
		j.wrongEvent(j.organization.id, e, "it moves more than one asset")
	case on < firstDay || on > max(lastDay, e.Booked.Date()):
		j.wrongEvent(j.organization.id, e, "its entry is of no day")
	case on > e.Booked.Date() && (e.Name == string(contract.Rent) || e.Name == string(contract.RentDue)):
		j.wrongEvent(j.organization.id, e, "time has booked it before its day")
	}
	l.asset = asset
	l.tally(j.organization.histories, e.Entry.Postings)
	j.followRegister(l, e)
}

// followReply notes behind which contract's event a reply is: it shows the contract as
// it was then.
func (j *contractsCheck) followReply(h *history, e *ledger.Event) {
	if j.last.seq != 0 && j.last.seq == e.Seq-1 {
		h.contract = j.replies.add(j.last)
	}
}

// isScreening tells whether the event is that of a screening, which has but one.
func isScreening(e *ledger.Event) bool {
	switch contract.Outcome(e.To) {
	case contract.Passed, contract.Failed, contract.Doubtful:
		return e.Name == "screen" && e.From == "" && e.Version == 1
	}
	return false
}
