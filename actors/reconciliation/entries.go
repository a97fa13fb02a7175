package reconciliation

import (
	"fmt"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// maxEntries is the maximum number of entries that one import compares, which bounds its memory.
const maxEntries = 500_000

// accountLine is a posted line of a provider's account with its event.
type accountLine struct {
	posting.Line
	asset money.Asset
	event ledger.Event
}

// eachLine calls fn with the posted and captured lines of the account of a terminal's provider on the days from to to, newest
// first within each asset.
func eachLine(view *posting.View, t *directory.Terminal, from, to ledger.Date, fn func(*accountLine) error) error {
	path := ledger.ProviderReceivable(t.ID)
	var accounts []ledger.Account
	err := view.Accounts(t.Org, string(path), t.Env, func(a ledger.Account) (bool, error) {
		if a.Path == path {
			accounts = append(accounts, a)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, a := range accounts {
		err := view.LinesUntil(t.Org, a, dayStart(to+1)-1, 0, func(l posting.Line) (bool, error) {
			if l.Booked < dayStart(from) {
				return false, nil
			}
			if l.Phase != ledger.Posted && l.Phase != ledger.Capture {
				return true, nil
			}
			e, _, found, err := view.Event(t.Org, l.Seq)
			if err != nil || !found || e.Entry == nil {
				return false, fmt.Errorf("reconciliation: event %d of a line can't be read: %w", l.Seq, err)
			}
			if l.Index >= len(e.Entry.Postings) {
				return true, nil // the entry only released a hold on this account
			}
			return true, fn(&accountLine{l, a.Asset, e})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isOwnEntry tells whether a decision of reconciliation has posted the entry.
func isOwnEntry(e *ledger.Event) bool { return e.Source.Kind == ledger.Difference }

// entryOf returns a line of the account in the form that the matching needs.
func entryOf(view *posting.View, org ledger.ID, l *accountLine) (reconciliation.Entry, error) {
	e := reconciliation.Entry{Seq: l.Seq, Date: l.Booked.Date(), Asset: l.asset, Outgoing: l.Side == ledger.Credit, Amount: l.Amount}
	switch l.event.Source.Kind {
	case ledger.Transaction:
		return e, addTransaction(view, org, l.event.Source, &e)
	case ledger.Settlement:
		settlement, err := readSettlement(view, org, l.event.Source.ID)
		if err != nil {
			return e, err
		}
		if net, err := l.Amount.Sub(settlement.Fee); err == nil {
			e.OtherAmount = net
		}
		e.References = []reconciliation.Reference{{Kind: reconciliation.BySettlement, Text: settlement.Reference}}
	}
	return e, nil
}

func readSettlement(view *posting.View, org, id ledger.ID) (*directory.Settlement, error) {
	s, err := read(view, directory.Settlements, org, ledger.Source{Kind: ledger.Settlement, ID: id})
	if err == nil && s.record == nil {
		err = fmt.Errorf("reconciliation: settlement %v is missing", id)
	}
	return s.record, err
}

// addTransaction adds the references of a transaction to its entry.
func addTransaction(view *posting.View, org ledger.ID, source ledger.Source, e *reconciliation.Entry) error {
	row, found, err := view.Record(org, source)
	if err != nil || !found {
		return fmt.Errorf("reconciliation: transaction %v can't be read: %w", source.ID, err)
	}
	p, err := paymentcodec.Decode(row.Payload)
	if err != nil {
		return err
	}
	e.References = referencesOf(p, e.Outgoing)
	return nil
}

// maxMetaText and minMetaText bound the texts in the provider's metadata that count as references: shorter ones, such as a
// status, name nothing.
const (
	minMetaText = 6
	maxMetaText = reconciliation.MaxReference
)

// referencesOf returns the texts by which a provider's line may name a transaction. Refunds have ids of their own.
func referencesOf(p *payment.Record, isOutgoing bool) []reconciliation.Reference {
	list := make([]reconciliation.Reference, 0, 6)
	add := func(kind reconciliation.ReferenceKind, text string) {
		if text != "" {
			list = append(list, reconciliation.Reference{Kind: kind, Text: text})
		}
	}
	addID := func(kind reconciliation.ReferenceKind, id ledger.ID) {
		if id != (ledger.ID{}) {
			add(kind, id.String())
		}
	}
	addID(reconciliation.ByTransactionID, p.ID)
	addID(reconciliation.ByTransactionID, p.ReversalOf)
	addID(reconciliation.ByTransactionID, p.AttemptOf)
	if reference := p.ChargeReference(); reference != p.ID {
		addID(reconciliation.ByCharge, reference)
	}
	if isOutgoing {
		for i := range p.Refunds {
			addID(reconciliation.ByCharge, p.Refunds[i].ID)
		}
	}
	add(reconciliation.ByTxID, p.TxID)
	add(reconciliation.ByRRN, p.RRN)
	if len(p.RailMeta) > 0 {
		members := jsonwalk.MembersOf(p.RailMeta)
		for _, value, more := members.Next(); more; _, value, more = members.Next() {
			if text, isText := jsonwalk.Text(value); isText && len(text) >= minMetaText && len(text) <= maxMetaText {
				add(reconciliation.ByProviderID, string(text))
			}
		}
	}
	return list
}

// openMissing are the open differences of kind missing_there among the entries of an import, by the entry's number.
type openMissing map[uint64]ledger.ID

// collectEntries adds the entries of the days from to to that nothing explains yet to a matcher, and returns which of them
// have a difference already.
func collectEntries(view *posting.View, t *directory.Terminal, from, to ledger.Date, m *reconciliation.Matcher) (openMissing, error) {
	missing := make(openMissing)
	count := 0
	err := eachLine(view, t, from, to, func(l *accountLine) error {
		if isOwnEntry(&l.event) {
			return nil
		}
		explained := reconciliation.ClaimEntry(t.Org, t.ID, l.Seq, ledger.ID{})
		owner, err := claimOwner(view, &explained)
		if err != nil || owner != (ledger.ID{}) {
			return err
		}
		if count++; count > maxEntries {
			return ledger.RefuseField("reconciliation.Import", "file", "covers days with more than %d entries: split it", maxEntries)
		}
		e, err := entryOf(view, t.Org, l)
		if err != nil {
			return err
		}
		m.Add(e)
		flagged := reconciliation.ClaimMissing(t.Org, t.ID, l.Seq, ledger.ID{})
		if owner, err = claimOwner(view, &flagged); err == nil && owner != (ledger.ID{}) {
			missing[l.Seq] = owner
		}
		return err
	})
	return missing, err
}

// linkedEntry returns the entry with the given number for a decision to link; nil if there is none.
func linkedEntry(view *posting.View, t *directory.Terminal, seq uint64) (*reconciliation.Linked, error) {
	e, _, found, err := view.Event(t.Org, seq)
	if err != nil || !found || e.Entry == nil || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
		return nil, err
	}
	out := &reconciliation.Linked{IsOwn: isOwnEntry(&e)}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if p.Account != ledger.ProviderReceivable(t.ID) {
			continue
		}
		out.IsOnAccount = true
		line := &accountLine{posting.Line{Seq: seq, Index: i, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount}, p.Asset, e}
		if out.Entry, err = entryOf(view, t.Org, line); err != nil {
			return nil, err
		}
		break
	}
	if e.Source.Kind == ledger.Settlement && out.IsOnAccount {
		settlement, err := readSettlement(view, t.Org, e.Source.ID)
		if err != nil {
			return nil, err
		}
		out.SettlementFee = settlement.Fee
	}
	explained := reconciliation.ClaimEntry(t.Org, t.ID, seq, ledger.ID{})
	owner, err := claimOwner(view, &explained)
	out.IsExplained = owner != (ledger.ID{})
	return out, err
}

// bookedFee returns the largest part of the fee of a settlement with the terminal's provider, booked on or after a day, that no
// line is linked with.
func bookedFee(view *posting.View, t *directory.Terminal, asset money.Asset, from ledger.Date) (largest money.Amount, err error) {
	list := directory.SettlementsWithProvider.Of(t.Partner, t.Env)
	err = view.List(t.Org, list, posting.ListRange{From: dayStart(from)}, func(row posting.ListRow) (bool, error) {
		s, err := read(view, directory.Settlements, t.Org, ledger.Source{Kind: ledger.Settlement, ID: row.ID})
		if err != nil || s.record == nil || s.record.Terminal != t.ID || s.record.Lines[0].Asset != asset {
			return err == nil, err
		}
		linked, err := view.Counter(t.Org, reconciliation.FeesKey(s.header.SettledSeq), "")
		if err != nil {
			return false, err
		}
		if free, err := s.record.Fee.Sub(linked); err == nil && largest.Less(free) {
			largest = free
		}
		return true, nil
	})
	return largest, err
}
