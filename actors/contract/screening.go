package contract

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Screening is the stored input and result of one screening, which checks whether an asset or a transaction may be
// financed.
type Screening struct {
	contract.Screening
	Replay bool // the screening was made by an earlier request with the same key
}

// screeningVersion is the first byte of a stored screening; the rest is JSON.
const screeningVersion = 1

// Screen applies the screening rules to the input and stores the input with the result. If the request has an
// idempotency key, a repeated request gets the stored screening. If the key was used for a different request, the
// error is a Conflict.
func (s *Service) Screen(org ledger.ID, input contract.ScreeningInput, key actors.Key, author ledger.Author) (Screening, error) {
	if earlier, found, err := s.earlierScreening(org, &key); found || err != nil {
		return earlier, err
	}
	screening := Screening{Screening: contract.NewScreening(uuid.New(), input, ledger.MicrosOf(s.rt.Clock.Now()))}
	body, err := json.Marshal(&screening.Screening)
	if err != nil {
		return screening, err
	}
	receipts := make(chan posting.Receipt, 1)
	source := ledger.Source{Kind: ledger.Screening, ID: screening.ID}
	change := &posting.Change{Author: author, Steps: []posting.Step{{
		Org: org, Source: source, Record: append([]byte{screeningVersion}, body...),
		Events: []ledger.Event{{Name: contract.ScreenEvent, To: string(screening.Decision)}}, Finish: true,
	}}}
	if !key.IsZero() {
		change.Claims = []ledger.Claim{key.Claim(org, source, nil)}
	}
	s.rt.Journal.Submit(change, func(r posting.Receipt) { receipts <- r })
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case r := <-receipts:
		if r.Err != nil {
			if earlier, repeated, err := s.earlierScreening(org, &key); repeated || err != nil {
				return earlier, err
			}
		}
		return screening, r.Err
	case <-timer.C:
		return screening, timedOut()
	}
}

// earlierScreening returns the screening that an earlier request with the key has made. If there was no request
// with the key, it returns false. If the key was used for a different request, the error is a Conflict.
func (s *Service) earlierScreening(org ledger.ID, key *actors.Key) (Screening, bool, error) {
	if key.IsZero() {
		return Screening{}, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, _, used, err := key.Find(view, org)
	if err != nil || !used {
		return Screening{}, false, err
	}
	screening, found, err := FindScreening(view, org, source.ID)
	if err != nil {
		return Screening{}, false, err
	}
	if !found {
		s.rt.LogUnreadableReply(org, source.ID, fmt.Errorf("%w: its claim names no screening", actors.ErrReply))
		return Screening{}, false, actors.ReplyLost("contract.Screen")
	}
	screening.Replay = true
	return *screening, true, nil
}

// ReadScreening parses a screening's payload.
func ReadScreening(id ledger.ID, payload []byte) (*Screening, error) {
	if len(payload) == 0 || payload[0] != screeningVersion {
		return nil, fmt.Errorf("screening: unknown form")
	}
	screening := new(Screening)
	screening.ID = id
	if err := json.Unmarshal(payload[1:], &screening.Screening); err != nil {
		return nil, fmt.Errorf("screening: %w", err)
	}
	return screening, nil
}

// FindScreening returns a screening of the organization. If there is no such screening, it returns false.
func FindScreening(view *posting.View, org, id ledger.ID) (*Screening, bool, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Screening, ID: id})
	if err != nil || !found {
		return nil, false, err
	}
	screening, err := ReadScreening(id, stored.Payload)
	return screening, err == nil, err
}

// checkScreening refuses the input for a new contract if the input names a screening that does not exist.
func (s *Service) checkScreening(org ledger.ID, input schema.Input) error {
	raw, sent := input[contract.ScreeningID.Name]
	var id ledger.ID
	if !sent || json.Unmarshal(raw, &id) != nil || id == (ledger.ID{}) {
		return nil // a malformed id is refused later, together with other wrong fields
	}
	view := s.rt.Journal.View()
	defer view.Close()
	_, found, err := FindScreening(view, org, id)
	if err == nil && !found {
		return &schema.Faults{List: []schema.Fault{{Field: contract.ScreeningID.Name, Message: "is not a screening of the organization"}}}
	}
	return err
}
