package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// maxSettlements bounds the settlements that are read for one page. A page that
// finds fewer of its terminal's among them is short and says where it stopped.
const maxSettlements = MaxPage + 1

// SettlementPage asks for a part of a list of settlements, which is newest first.
type SettlementPage struct {
	Env   money.Env
	Limit int    // 1 to MaxPage; 0: DefaultPage
	After Cursor // the last row of the page before; zero: from the newest
}

// PartnerSettlements is a page of a partner's settlements with the partner's bank
// and where the next one begins; a zero cursor: this is the last. Errors are
// *ledger.Refusal, NotFound for a partner that the organization doesn't have, or
// the store's.
func (s *Service) PartnerSettlements(org ledger.ID, number int64, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	if _, ok := s.Partner(org, number); !ok {
		return nil, Cursor{}, notFound("directory.PartnerSettlements", "partner")
	}
	return s.listSettlements(org, posting.List{Partner: number, Env: listWithBank | uint8(p.Env)}, ledger.ID{}, p)
}

// ProviderSettlements is a page of a terminal's settlements with its provider, as
// PartnerSettlements. One before the last may be short, even empty, where the
// terminal's partner has others that settle more often.
func (s *Service) ProviderSettlements(org, terminal ledger.ID, p SettlementPage) ([]*directory.Settlement, Cursor, error) {
	at, ok := s.Terminal(org, terminal)
	if !ok {
		return nil, Cursor{}, notFound("directory.ProviderSettlements", "terminal")
	}
	return s.listSettlements(org, posting.List{Partner: at.Partner, Env: listWithProvider | uint8(p.Env)}, terminal, p)
}

// listSettlements walks a list backwards from the cursor. It looks one row further
// than the page, so that the last page says that it is.
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
	var last Cursor // of what was looked at
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
