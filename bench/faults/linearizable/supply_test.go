package linearizable

import (
	"errors"
	"fmt"
	"sync"
)

// errKilled means that a request got no response, usually because the server was killed.
var errKilled = errors.New("no response")

// asset is a currency in one environment (prod or test), together with a partner on whose account no other history works. The
// partner has terminals for payments and payouts in both environments.
type asset struct {
	partner         int64
	key             string
	currency, env   string
	paymentTerminal string // id of the terminal for payments in the environment
}

// currencies are currencies that need no network (such as a blockchain) in requests.
var currencies = []string{"RUB", "UAH", "AZN", "USD", "EUR", "GBP", "CHF", "TRY", "KZT", "CAD", "SGD", "IDR"}

// supply hands out assets, and makes a partner when there are none left.
type supply struct {
	seed uint64

	mu       sync.Mutex
	partners int
	assets   []asset
}

func (s *supply) next(e *epoch) (asset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.assets) == 0 {
		s.partners++
		if err := s.makePartner(e, fmt.Sprintf("partner-%d-%d", s.seed, s.partners)); err != nil {
			return asset{}, err
		}
	}
	a := s.assets[0]
	s.assets = s.assets[1:]
	return a, nil
}

// makePartner creates a partner with a key and terminals. After a failure the created records stay, and the next call creates
// another partner.
func (s *supply) makePartner(e *epoch, login string) error {
	var partner struct{ ID int64 }
	if err := e.make("/partners", `{"name":"Merchant","login":"`+login+`","pass":"correct-Horse-battery-71"}`, &partner); err != nil {
		return err
	}
	var key struct{ Key string }
	if err := e.make("/api_keys", fmt.Sprintf(`{"name":"key","partner_id":%d}`, partner.ID), &key); err != nil {
		return err
	}
	var assets []asset
	for _, env := range []string{"prod", "test"} {
		var terminals [2]struct{ Data struct{ ID string } }
		for i, kind := range []string{"payment", "payout"} {
			body := fmt.Sprintf(`{"name":"t","partner_id":%d,"provider":"simulator","type":%q,"env":%q,"is_active":true}`, partner.ID, kind, env)
			if err := e.make("/terminal", body, &terminals[i]); err != nil {
				return err
			}
		}
		for _, currency := range currencies {
			assets = append(assets, asset{partner.ID, key.Key, currency, env, terminals[0].Data.ID})
		}
	}
	s.assets = assets
	return nil
}

// make creates a record as the administrator. Its response may have secrets, so it is not recorded.
func (e *epoch) make(path, body string, into any) error {
	a := e.exchange(e.admin(), "POST", "/api/v1"+path, body, "")
	if a.status == 0 || a.isNothingDone() || a.isUnknown() {
		return errKilled
	}
	if a.status != 201 {
		return fmt.Errorf("POST %s answered %d: %s", path, a.status, a.body)
	}
	a.into(into)
	return nil
}
