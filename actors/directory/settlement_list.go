package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// maxSettlements bounds how many settlements one page reads. A terminal's page that has read that
// many is returned short, with a cursor to where it stopped.
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
	return s.listSettlements(org, posting.List{Partner: number, Env: listWithBank | uint8(p.Env)}, ledger.ID{}, p)
}

// ProviderSettlements returns a page of a terminal's settlements with its provider, as
// PartnerSettlements does. A page before the last may be short or even empty if other terminals of
// the same partner settle more often.
func (s *Service) ProviderSettlements(org, terminal ledger.ID, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	at, ok := s.Terminal(org, terminal)
	if !ok {
		return nil, Cursor{}, notFound("directory.ProviderSettlements", "terminal")
	}
	return s.listSettlements(org, posting.List{Partner: at.Partner, Env: listWithProvider | uint8(p.Env)}, terminal, p)
}

// listSettlements walks a list backwards from the cursor. It looks one row beyond the page to find
// out whether the page is the last.
func (s *Service) listSettlements(org ledger.ID, l posting.List, terminal ledger.ID, p SettlementPage) (rows []*directory.Settlement, next Cursor, err error) {
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField("directory.ListSettlements", "limit", "must be from 1 to %d", MaxPage)
	}
	v := s.rt.Journal.View()
	defer v.Close()
	read := 0
	var last Cursor // the last row that the walk has looked at
	err = v.List(org, l, posting.Walk{Before: p.After.At}, func(row posting.Listed) (bool, error) {
		if read++; read > maxSettlements {
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
