package ledger

import (
	"fmt"

	"mizan/ledger/money"
)

// Phase tells how an entry changes the posted and pending totals of its accounts.
type Phase uint8

// Phases of entries. The zero value is invalid.
const (
	Posted  Phase = iota + 1 // changes posted totals
	Pending                  // holds money: changes pending totals

	// Capture posts Entry.Postings. It also closes the whole pending entry that Entry.Closes identifies.
	Capture
	// Void closes the pending entry that Entry.Closes identifies. Entry.Postings equals the postings of the pending entry.
	Void
)

// String returns the name of the phase in the API.
func (p Phase) String() string {
	switch p {
	case Posted:
		return "posted"
	case Pending:
		return "pending"
	case Capture:
		return "capture"
	case Void:
		return "void"
	}
	return "invalid"
}

// Posting is a line of an entry: an amount that is debited or credited to an account.
type Posting struct {
	Account Path
	Asset   money.Asset
	Side    Side
	Amount  money.Amount

	// SplitWith is an optional second account, for the part of the amount that does not belong on Account. A credit first pays
	// the debt on SplitWith, and the rest goes to Account. If a debit exceeds the available balance of Account, the excess goes
	// to SplitWith. The journal's writer replaces the posting with one or two postings without SplitWith. Only postings of
	// Posted and Capture entries may have a SplitWith.
	SplitWith Path
}

// Entry is a balanced movement of money. If Effective is zero, the journal's writer sets Effective to the day on which it books
// the entry.
type Entry struct {
	Phase     Phase
	Effective Date
	Reverses  uint64 // Event.Seq of the entry that this entry reverses; 0 if none
	Closes    uint64 // Event.Seq of the pending entry that a Capture or Void closes; set by the journal's writer
	Postings  []Posting

	// Released are the postings of the pending entry that a Capture closes. The Capture subtracts these postings from the
	// pending totals. They are not part of the canonical bytes, because Closes already identifies the pending entry.
	Released []Posting
}

// MaxPostings is the maximum number of postings of an entry. With this bound, an event fits into one block (a stored row of
// consecutive events).
const MaxPostings = 256

// Check returns an error if the entry breaks a rule of bookkeeping. Then the code that made the entry has a bug.
func (e *Entry) Check() error {
	if e.Phase < Posted || e.Phase > Void {
		return fmt.Errorf("entry: phase %d", e.Phase)
	}
	closesHold := e.Phase == Capture || e.Phase == Void
	if e.Closes != 0 && !closesHold {
		return fmt.Errorf("entry: phase %v closes %d", e.Phase, e.Closes)
	}
	if (len(e.Released) != 0) != (e.Phase == Capture) {
		return fmt.Errorf("entry: phase %v with %d released postings", e.Phase, len(e.Released))
	}
	if err := checkBalanced(e.Postings, e.Phase == Posted || e.Phase == Capture); err != nil {
		return err
	}
	if e.Phase == Capture {
		return checkBalanced(e.Released, false)
	}
	return nil
}

func checkBalanced(postings []Posting, maySplit bool) error {
	if len(postings) < 2 || len(postings) > MaxPostings {
		return fmt.Errorf("entry: %d postings", len(postings))
	}
	firstIsMemorandum := postings[0].Account.Class() == ClassMemorandum
	for i := range postings {
		p := &postings[i]
		if p.Amount.IsZero() || (p.Side != Debit && p.Side != Credit) || !p.Account.IsValid() {
			return fmt.Errorf("entry: posting %d: %v %v %v", i, p.Account, p.Side, p.Amount)
		}
		if p.SplitWith != "" && (!maySplit || !p.SplitWith.IsValid()) {
			return fmt.Errorf("entry: posting %d may not split", i)
		}
		if (p.Account.Class() == ClassMemorandum) != firstIsMemorandum && !memorandumBalances(postings, p.Asset) {
			return fmt.Errorf("entry: memorandum against %v", p.Account)
		}
	}
	for i := range postings {
		if isFirstOfAsset(postings, i) {
			if err := checkAssetBalances(postings, postings[i].Asset); err != nil {
				return err
			}
		}
	}
	return nil
}

// memorandumBalances tells whether the postings on memorandum accounts, in the given asset, have equal debits and credits. If
// so, the entry may also have postings on other accounts. For example, the entry that funds a contract has both.
func memorandumBalances(postings []Posting, asset money.Asset) bool {
	var totals [3]money.Amount
	for i := range postings {
		if p := &postings[i]; p.Account.Class() == ClassMemorandum && p.Asset == asset {
			sum, err := totals[p.Side].Add(p.Amount)
			if err != nil {
				return false
			}
			totals[p.Side] = sum
		}
	}
	return totals[Debit] == totals[Credit]
}

func isFirstOfAsset(postings []Posting, i int) bool {
	for j := range i {
		if postings[j].Asset == postings[i].Asset {
			return false
		}
	}
	return true
}

func checkAssetBalances(postings []Posting, asset money.Asset) error {
	var totals [3]money.Amount
	for i := range postings {
		p := &postings[i]
		if p.Asset != asset {
			continue
		}
		sum, err := totals[p.Side].Add(p.Amount)
		if err != nil {
			return fmt.Errorf("entry: %v overflows", asset)
		}
		totals[p.Side] = sum
	}
	if totals[Debit] != totals[Credit] {
		return fmt.Errorf("entry: %v: debits %v, credits %v", asset, totals[Debit], totals[Credit])
	}
	return nil
}
