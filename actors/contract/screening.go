package contract

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting"
)

// Screening is what a screening was given and what it found. It is stored once and
// never changes.
type Screening struct {
	ID       ledger.ID          `json:"-"`
	Given    contract.Screened  `json:"given"`
	Decision contract.Outcome   `json:"decision"`
	Findings []contract.Finding `json:"findings"`
	Ruleset  int                `json:"ruleset"`
	At       ledger.Micros      `json:"at"`
}

// screeningVersion begins a screening's payload; JSON follows.
const screeningVersion = 1

// Screen applies the rules to what was given and stores both.
func (s *Service) Screen(org ledger.ID, given contract.Screened) (Screening, error) {
	found := Screening{ID: uuid.New(), Given: given, Ruleset: contract.RulesetVersion, At: ledger.MicrosOf(s.rt.Clock.Now())}
	found.Decision, found.Findings = contract.Screen(&given)
	body, err := json.Marshal(&found)
	if err != nil {
		return found, err
	}
	done := make(chan posting.Receipt, 1)
	s.rt.Journal.Submit(&posting.Change{Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Screening, ID: found.ID}, Record: append([]byte{screeningVersion}, body...),
		Events: []ledger.Event{{Name: "screen", To: string(found.Decision)}}, Finish: true,
	}}}, func(r posting.Receipt) { done <- r })
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case r := <-done:
		return found, r.Err
	case <-timer.C:
		return found, late()
	}
}

// ReadScreening reads a screening's payload.
func ReadScreening(id ledger.ID, payload []byte) (*Screening, error) {
	if len(payload) == 0 || payload[0] != screeningVersion {
		return nil, fmt.Errorf("screening: unknown form")
	}
	found := &Screening{ID: id}
	if err := json.Unmarshal(payload[1:], found); err != nil {
		return nil, fmt.Errorf("screening: %w", err)
	}
	return found, nil
}

// FindScreening is a screening of the organization; false: it has none with that id.
func FindScreening(view *posting.View, org, id ledger.ID) (*Screening, bool, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Screening, ID: id})
	if err != nil || !found {
		return nil, false, err
	}
	screening, err := ReadScreening(id, stored.Payload)
	return screening, err == nil, err
}

// screened refuses a contract that rests on a screening that there is not.
func (s *Service) screened(org ledger.ID, given contract.Given) error {
	raw, sent := given[contract.ScreeningID.Name]
	var id ledger.ID
	if !sent || json.Unmarshal(raw, &id) != nil || id == (ledger.ID{}) {
		return nil // what is malformed is refused with all else
	}
	view := s.rt.Journal.View()
	defer view.Close()
	_, found, err := FindScreening(view, org, id)
	if err == nil && !found {
		return &contract.Faults{List: []contract.Fault{{Field: contract.ScreeningID.Name, Message: "is not a screening of the organization"}}}
	}
	return err
}
