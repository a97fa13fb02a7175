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

// SettlePartner books money that moved between the bank accounts of the institution and of the partner; paysOut is true if
// the partner received the money. If the partner has already used the reference for the same settlement, SettlePartner
// returns the earlier settlement and sets repeated. If the partner has used the reference for a different settlement, the
// error is a Conflict. Errors are *ledger.Refusal. If the organization has no such partner, the code is NotFound.
func (s *Service) SettlePartner(ctx context.Context, org ledger.ID, number int64, paysOut bool, draft directory.SettlementDraft) (settlement *directory.Settlement, repeated bool, err error) {
	const op = "directory.SettlePartner"
	if _, ok := s.Partner(org, number); !ok {
		return nil, false, notFound(op, "partner")
	}
	id := uuid.New()
	return s.settle(ctx, org, op, "amount", func() (*directory.Settlement, ledger.Event, error) {
		partner, _ := s.Partner(org, number)
		return directory.NewSettlement(id, partner, paysOut, draft)
	})
}

// SettleProvider books a payment that a terminal's provider made to the institution, after the provider deducted its fee.
// Each terminal has its own references; a repeated reference has the same effect as in SettlePartner. Errors are
// *ledger.Refusal. If the organization has no such terminal, the code is NotFound.
func (s *Service) SettleProvider(ctx context.Context, org, terminal ledger.ID, fee money.Amount, draft directory.SettlementDraft) (settlement *directory.Settlement, repeated bool, err error) {
	const op = "directory.SettleProvider"
	if _, ok := s.Terminal(org, terminal); !ok {
		return nil, false, notFound(op, "terminal")
	}
	id := uuid.New()
	return s.settle(ctx, org, op, "gross", func() (*directory.Settlement, ledger.Event, error) {
		providerTerminal, _ := s.Terminal(org, terminal)
		return directory.NewProviderSettlement(id, providerTerminal, fee, draft)
	})
}

// settle decides on a settlement and books it. If it is refused because of the amount, the refusal names amountField. Only
// the organization's actor claims settlement references, so a reference that the actor finds free stays free until the
// settlement is booked.
func (s *Service) settle(ctx context.Context, org ledger.ID, op, amountField string, decide func() (*directory.Settlement, ledger.Event, error)) (*directory.Settlement, bool, error) {
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
		earlier, err := s.earlierSettlement(op, requested)
		if err != nil {
			return nil, nil, err
		}
		if earlier != nil {
			settlement, repeated = earlier, true
			return nil, nil, nil
		}
		settlement = requested
		return s.settlementChange(requested, event), requested, nil
	}, func(headers []posting.RecordHeader) {
		settlement.CreatedAt, settlement.Seq = headers[0].StartedAt, headers[0].SettledSeq
	})
	if err != nil {
		return nil, false, nameAmountField(op, amountField, err)
	}
	return settlement, repeated, nil
}

// settlementChange returns the Change that books a settlement.
func (s *Service) settlementChange(settlement *directory.Settlement, event ledger.Event) *posting.Change {
	partner, _ := s.Partner(settlement.Org, settlement.Partner)
	step := stepWithoutSecrets(directory.Settlements, settlement.Org, 0, settlement, event)
	step.List, step.FurtherLists = directory.SettlementLists.Of(settlement)
	return &posting.Change{
		Steps:    []posting.Step{step},
		Claims:   []ledger.Claim{settlement.Claim()},
		Funds:    settlement.Funds(partner),
		Counters: settlement.Counters(),
	}
}

// earlierSettlement returns the earlier settlement with the same reference if it equals the requested settlement. If the
// reference is free, it returns nil. If the reference belongs to a different settlement, the error is a Conflict.
func (s *Service) earlierSettlement(op string, requested *directory.Settlement) (*directory.Settlement, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	claim := requested.Claim()
	id, taken, err := view.Claim(claim.Org, claim.Kind, claim.Key)
	if err != nil || !taken {
		return nil, err
	}
	if len(id) != len(ledger.ID{}) {
		return nil, fmt.Errorf("directory: the reference of settlement %v names no settlement", requested.ID)
	}
	earlier, found, err := readSettlement(view, requested.Org, ledger.ID(id))
	switch {
	case err != nil:
		return nil, err
	case !found || !earlier.Same(requested):
		return nil, ledger.Refuse(op, ledger.Conflict, "the reference was used for another settlement")
	}
	return earlier, nil
}

// nameAmountField returns a refusal that names the amount's field if the writer has refused a settlement because of
// insufficient funds or an overflow. It returns every other error unchanged.
func nameAmountField(op, field string, err error) error {
	switch ledger.CodeOf(err) {
	case ledger.InsufficientFunds:
		return ledger.RefuseField(op, field, "is more than what is available")
	case ledger.OutOfRange:
		return ledger.RefuseField(op, field, "is out of range")
	}
	return err
}

// Settlement finds a settlement of the organization, whether it is with a bank or with a provider. The error comes from
// the store.
func (s *Service) Settlement(org, id ledger.ID) (*directory.Settlement, bool, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	return readSettlement(v, org, id)
}

func readSettlement(view *posting.View, org, id ledger.ID) (*directory.Settlement, bool, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Settlement, ID: id})
	if err != nil || !found {
		return nil, false, err
	}
	settlement, err := directory.Settlements.Read(metadataOf(org, id, stored.Header), stored.Payload, nil)
	if err != nil {
		return nil, false, unreadable(ledger.Settlement, id, err)
	}
	return settlement, true, nil
}

// maxSettlements is the maximum number of settlements that are read for one page. If this number is reached, the page of a
// terminal has fewer rows than its limit, and a cursor from which the next page continues.
const maxSettlements = MaxPage + 1

// SettlementPage selects a page of a list of settlements, newest first.
type SettlementPage struct {
	Env   money.Env
	Limit int    // 1 to MaxPage; 0 means DefaultPage
	After Cursor // the last row of the previous page; zero for the first page
}

// PartnerSettlements returns a page of a partner's settlements with the partner's bank, and the cursor of the next page.
// If this is the last page, the cursor is zero. If the organization has no such partner, the error has the code NotFound.
// All errors are *ledger.Refusal or come from the store.
func (s *Service) PartnerSettlements(org ledger.ID, number int64, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	if _, ok := s.Partner(org, number); !ok {
		return nil, Cursor{}, notFound("directory.PartnerSettlements", "partner")
	}
	return s.listSettlements(org, directory.SettlementsWithBank.Of(number, p.Env), ledger.ID{}, p)
}

// ProviderSettlements returns a page of a terminal's settlements with the terminal's provider, and the same cursor and
// errors as PartnerSettlements. If most of the partner's settlements belong to other terminals, a page may have few rows
// or none even if it is not the last.
func (s *Service) ProviderSettlements(org, terminal ledger.ID, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	providerTerminal, ok := s.Terminal(org, terminal)
	if !ok {
		return nil, Cursor{}, notFound("directory.ProviderSettlements", "terminal")
	}
	return s.listSettlements(org, directory.SettlementsWithProvider.Of(providerTerminal.Partner, p.Env), terminal, p)
}

// listSettlements reads a list backwards from the cursor and returns the settlements of a terminal, or the settlements
// with the bank if terminal is zero. To find out whether the page is the last, it reads one row more than the page
// contains.
func (s *Service) listSettlements(org ledger.ID, list ledger.List, terminal ledger.ID, p SettlementPage) (rows []*directory.Settlement, next Cursor, err error) {
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField("directory.ListSettlements", "limit", "must be from 1 to %d", MaxPage)
	}
	view := s.rt.Journal.View()
	defer view.Close()
	readCount := 0
	var last Cursor // the last row that was read
	err = view.List(org, list, posting.ListRange{Before: p.After.At}, func(row posting.ListRow) (bool, error) {
		if readCount++; readCount > maxSettlements {
			next = last
			return false, nil
		}
		settlement, found, err := readSettlement(view, org, row.ID)
		if err != nil {
			return false, err
		}
		if !found {
			return false, unreadable(ledger.Settlement, row.ID, errMissing)
		}
		if settlement.Terminal == terminal && len(rows) == p.Limit {
			shown := rows[len(rows)-1]
			next = Cursor{At: shown.CreatedAt, ID: shown.ID}
			return false, nil
		}
		if last = (Cursor{At: row.Booked, ID: row.ID}); settlement.Terminal == terminal {
			rows = append(rows, settlement)
		}
		return true, nil
	})
	if err != nil {
		return nil, Cursor{}, err
	}
	return rows, next, nil
}
