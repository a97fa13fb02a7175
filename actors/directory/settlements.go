package directory

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// SettlePartner books money that moved between the institution's bank account and the partner's bank
// account, out or in. If the partner has used the reference for the same settlement, SettlePartner
// returns that settlement and sets repeated; if it used the reference for a different one, the error is a
// Conflict. Errors are *ledger.Refusal, NotFound for a partner that the organization does not have.
func (s *Service) SettlePartner(ctx context.Context, org ledger.ID, number int64, paysOut bool, d directory.SettlementDraft) (settlement *directory.Settlement, repeated bool, err error) {
	const op = "directory.SettlePartner"
	if _, ok := s.Partner(org, number); !ok {
		return nil, false, notFound(op, "partner")
	}
	id := uuid.New()
	return s.settle(ctx, org, op, "amount", func() (*directory.Settlement, ledger.Event, error) {
		owner, _ := s.Partner(org, number)
		return directory.NewSettlement(id, owner, paysOut, d)
	})
}

// SettleProvider books what a terminal's provider has paid, less the fee that the provider kept.
// References belong to the terminal and work as in SettlePartner. Errors are *ledger.Refusal,
// NotFound for a terminal that the organization does not have.
func (s *Service) SettleProvider(ctx context.Context, org, terminal ledger.ID, fee money.Amount, d directory.SettlementDraft) (settlement *directory.Settlement, repeated bool, err error) {
	const op = "directory.SettleProvider"
	if _, ok := s.Terminal(org, terminal); !ok {
		return nil, false, notFound(op, "terminal")
	}
	id := uuid.New()
	return s.settle(ctx, org, op, "gross", func() (*directory.Settlement, ledger.Event, error) {
		at, _ := s.Terminal(org, terminal)
		return directory.NewProviderSettlement(id, at, fee, d)
	})
}

// settle decides and books a settlement. Only the organization's actor claims settlement
// references, so a reference that the actor finds free stays free until the actor has booked.
func (s *Service) settle(ctx context.Context, org ledger.ID, op, amount string, decide func() (*directory.Settlement, ledger.Event, error)) (*directory.Settlement, bool, error) {
	if _, err := s.writable(op, org); err != nil {
		return nil, false, err
	}
	var settlement *directory.Settlement
	var repeated bool
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		requested, event, err := decide()
		if err != nil {
			return nil, nil, err
		}
		earlier, err := s.settledFor(op, requested)
		if err != nil {
			return nil, nil, err
		}
		if earlier != nil {
			settlement, repeated = earlier, true
			return nil, nil, nil
		}
		settlement = requested
		return s.settlementChange(requested, event), requested, nil
	}, func(stamps []posting.Stamp) {
		settlement.Created, settlement.Seq = stamps[0].Started, stamps[0].Settled
	})
	if err != nil {
		return nil, false, nameAmountField(op, amount, err)
	}
	return settlement, repeated, nil
}

// settlementChange returns the Change that books a settlement. No part of it enters the view.
func (s *Service) settlementChange(n *directory.Settlement, event ledger.Event) *posting.Change {
	owner, _ := s.Partner(n.Org, n.Partner)
	booked := plainStep(directory.Settlements, n.Org, 0, n, event)
	booked.List, booked.Also = directory.SettlementLists.Of(n)
	return &posting.Change{
		Steps:    []posting.Step{booked},
		Claims:   []ledger.Claim{n.Claim()},
		Funds:    n.Funds(owner),
		Counters: n.Counters(),
	}
}

// settledFor returns the settlement that already has the reference, if it equals the requested one; nil
// if the reference is free. If the reference belongs to a different settlement, the error is a
// Conflict.
func (s *Service) settledFor(op string, requested *directory.Settlement) (*directory.Settlement, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	claim := requested.Claim()
	id, taken, err := v.Claim(claim.Org, claim.Kind, claim.Key)
	if err != nil || !taken {
		return nil, err
	}
	if len(id) != len(ledger.ID{}) {
		return nil, fmt.Errorf("directory: the reference of settlement %v names nothing", requested.ID)
	}
	earlier, found, err := readSettlement(v, requested.Org, ledger.ID(id))
	switch {
	case err != nil:
		return nil, err
	case !found || !earlier.Same(requested):
		return nil, ledger.Refuse(op, ledger.Conflict, "the reference was used for another settlement")
	}
	return earlier, nil
}

// nameAmountField replaces the writer's refusal for lack of funds or of range by one that names the
// amount's field.
func nameAmountField(op, amount string, err error) error {
	switch codeOf(err) {
	case ledger.InsufficientFunds:
		return ledger.RefuseField(op, amount, "is more than what is available")
	case ledger.OutOfRange:
		return ledger.RefuseField(op, amount, "is out of range")
	}
	return err
}

// Settlement finds a settlement of the organization, with a bank or with a provider. The error is
// the store's.
func (s *Service) Settlement(org, id ledger.ID) (*directory.Settlement, bool, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	return readSettlement(v, org, id)
}

func readSettlement(v *posting.View, org, id ledger.ID) (*directory.Settlement, bool, error) {
	r, found, err := v.Record(org, ledger.Source{Kind: ledger.Settlement, ID: id})
	if err != nil || !found {
		return nil, false, err
	}
	n, err := directory.Settlements.Read(envelopeOf(org, id, r.Stamp), r.Payload, nil)
	if err != nil {
		return nil, false, unreadable(ledger.Settlement, id, err)
	}
	return n, true, nil
}

// maxSettlements bounds how many settlements one page reads. A terminal's page that reaches this bound
// is returned short, with a cursor to where it stopped.
const maxSettlements = MaxPage + 1

// SettlementPage selects a page of a list of settlements, newest first.
type SettlementPage struct {
	Env   money.Env
	Limit int    // 1 to MaxPage; 0: DefaultPage
	After Cursor // the last row of the previous page; zero: start from the newest
}

// PartnerSettlements returns a page of a partner's settlements with the partner's bank, and the
// cursor of the next page; a zero cursor means that this is the last page. Errors are
// *ledger.Refusal, NotFound for a partner that the organization does not have, or the store's.
func (s *Service) PartnerSettlements(org ledger.ID, number int64, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	if _, ok := s.Partner(org, number); !ok {
		return nil, Cursor{}, notFound("directory.PartnerSettlements", "partner")
	}
	return s.listSettlements(org, directory.SettlementsWithBank.Of(number, p.Env), ledger.ID{}, p)
}

// ProviderSettlements returns a page of a terminal's settlements with its provider, as
// PartnerSettlements does. A page before the last may be short or even empty if other terminals of
// the same partner settle more often.
func (s *Service) ProviderSettlements(org, terminal ledger.ID, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	at, ok := s.Terminal(org, terminal)
	if !ok {
		return nil, Cursor{}, notFound("directory.ProviderSettlements", "terminal")
	}
	return s.listSettlements(org, directory.SettlementsWithProvider.Of(at.Partner, p.Env), terminal, p)
}

// listSettlements walks a list backwards from the cursor. It looks one row beyond the page to find
// out whether the page is the last.
func (s *Service) listSettlements(org ledger.ID, l ledger.List, terminal ledger.ID, p SettlementPage) (rows []*directory.Settlement, next Cursor, err error) {
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField("directory.ListSettlements", "limit", "must be from 1 to %d", MaxPage)
	}
	v := s.rt.Journal.View()
	defer v.Close()
	readCount := 0
	var last Cursor // the last row that the walk has looked at
	err = v.List(org, l, posting.Walk{Before: p.After.At}, func(row posting.Listed) (bool, error) {
		if readCount++; readCount > maxSettlements {
			next = last
			return false, nil
		}
		n, found, err := readSettlement(v, org, row.ID)
		if err != nil {
			return false, err
		}
		if !found {
			return false, unreadable(ledger.Settlement, row.ID, errMissing)
		}
		if n.Terminal == terminal && len(rows) == p.Limit {
			shown := rows[len(rows)-1]
			next = Cursor{At: shown.Created, ID: shown.ID}
			return false, nil
		}
		if last = (Cursor{At: row.Booked, ID: row.ID}); n.Terminal == terminal {
			rows = append(rows, n)
		}
		return true, nil
	})
	if err != nil {
		return nil, Cursor{}, err
	}
	return rows, next, nil
}
