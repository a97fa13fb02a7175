package directory

import (
	"context"
	"strconv"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// Bounds of AddMerchants. A Change (all that is stored at once) contains at most recordsPerChange records. A merchant
// has at most MaxMerchantRecords terminals and keys, so they fit into one Change.
const (
	MaxMerchantRecords = 500 // maximum number of terminals and keys of one merchant together
	recordsPerChange   = 512 // maximum number of records in a Change that adds merchants
)

// Merchant is a partner that AddMerchants has created.
type Merchant struct {
	Number int64         // the protocol's partner id
	Keys   []secret.Text // values of the partner's API keys; the values are stored nowhere
}

// MerchantsDraft says how many partners, terminals and keys AddMerchants makes.
type MerchantsDraft struct {
	Partners  int
	Terminals int // number for each partner, of these kinds in rotation: payment and payout in prod, payment and payout in test
	Keys      int // number for all partners together; each partner gets about the same number
}

func (d *MerchantsDraft) check(op string) error {
	switch {
	case d.Partners < 1:
		return ledger.RefuseField(op, "partners", "must be above zero")
	case d.Terminals < 0 || d.Terminals > directory.MaxTerminals:
		return ledger.RefuseField(op, "terminals", "must be from 0 to %d", directory.MaxTerminals)
	case d.Keys < 0:
		return ledger.RefuseField(op, "keys", "must not be negative")
	case d.Terminals+d.keysOf(0) > MaxMerchantRecords:
		return ledger.RefuseField(op, "keys", "and terminals must be at most %d of each partner", MaxMerchantRecords)
	}
	return nil
}

// keysOf returns the number of keys that the partner with the given index gets.
func (d *MerchantsDraft) keysOf(index int) int {
	n := d.Keys / d.Partners
	if index < d.Keys%d.Partners {
		n++
	}
	return n
}

// AddMerchants adds many partners with simulator terminals and keys to an organization. It is made for a load
// generator that prepares a store before it starts a server. It makes the same records and events as CreatePartner,
// CreateTerminal and CreateAPIKey, but many in one Change. The partners have no password, because hashing a password
// for each partner would take longer than everything else. If there is an error, the merchants that were already made
// stay in the store. Errors are *ledger.Refusal.
func (s *Service) AddMerchants(ctx context.Context, org ledger.ID, draft MerchantsDraft) ([]Merchant, error) {
	const op = "directory.AddMerchants"
	if err := draft.check(op); err != nil {
		return nil, err
	}
	merchants := make([]Merchant, 0, draft.Partners)
	for len(merchants) < draft.Partners {
		perChange := max(1, recordsPerChange/(1+draft.Terminals+draft.keysOf(0)))
		first, last := len(merchants), min(len(merchants)+perChange, draft.Partners)
		numbers, err := s.reservePartnerNumbers(ctx, last-first)
		if err != nil {
			return merchants, err
		}
		added, err := s.addMerchants(ctx, org, &draft, first, numbers)
		if err != nil {
			return merchants, err
		}
		merchants = append(merchants, added...)
	}
	return merchants, nil
}

// reservePartnerNumbers reserves n partner numbers durably, in one Change.
func (s *Service) reservePartnerNumbers(ctx context.Context, n int) ([]int64, error) {
	var numbers []int64
	err := s.changePlatform(ctx, "directory.reserve", func(p *directory.Platform) (*directory.Platform, error) {
		for range n {
			var number int64
			p, number = p.ReservePartnerNumber()
			numbers = append(numbers, number)
		}
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	return numbers, nil
}

// addMerchants makes the merchants with the given numbers durable in one Change. first is the index of the first of
// these merchants among all partners of the draft.
func (s *Service) addMerchants(ctx context.Context, org ledger.ID, draft *MerchantsDraft, first int, numbers []int64) ([]Merchant, error) {
	const op = "directory.AddMerchants"
	var added []Merchant
	var batch *seeder
	err := s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, err
		}
		batch = &seeder{service: s, now: now}
		for i, number := range numbers {
			m, err := batch.addMerchant(o, number, draft.Terminals, draft.keysOf(first+i))
			if err != nil {
				return nil, err
			}
			added = append(added, m)
		}
		return &batch.change, nil
	}, func(headers []posting.RecordHeader) { batch.publish(headers) })
	if err != nil {
		return nil, err
	}
	return added, nil
}

// addMerchant adds a partner, and the partner's terminals and keys, to the Change.
func (n *seeder) addMerchant(o *organization, number int64, terminals, keys int) (Merchant, error) {
	name := "Merchant " + strconv.FormatInt(number, 10)
	p, err := n.addPartner(o, directory.Partner{Number: number, Name: name, Login: "merchant-" + strconv.FormatInt(number, 10)})
	if err != nil {
		return Merchant{}, err
	}
	for i := range terminals {
		kind, env := directory.PaymentTerminal, money.Prod
		if i%2 == 1 {
			kind = directory.PayoutTerminal
		}
		if i%4 >= 2 {
			env = money.Test
		}
		if err := n.addTerminal(o, p, kind, env); err != nil {
			return Merchant{}, err
		}
	}
	m := Merchant{Number: number, Keys: make([]secret.Text, 0, keys)}
	for i := range keys {
		value, err := n.issueKey(o, directory.APIKey{Partner: number, Name: "key " + strconv.Itoa(i+1)})
		if err != nil {
			return Merchant{}, err
		}
		m.Keys = append(m.Keys, value)
	}
	return m, nil
}
