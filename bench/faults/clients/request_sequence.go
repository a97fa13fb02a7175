package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
)

// cardholder is the name of the holder of every card. No file of the server may contain this name.
const cardholder = "Zebulon Quixworth-Canary"

// Canaries returns the texts that no file of the server may contain.
func Canaries() []string { return append([]string{cardholder}, cards...) }

// cards lead to different outcomes at the simulator: most are charged, some are refused or fail, some are
// charged some seconds later, and one refuses its refunds.
var cards = []string{
	"4242424242424242", "5555555555554444", "4000000000000002", "4000000000000119", "4000000000000077", "4000000000000341", "4000000000005126",
	"4000000000007726",
}

// request is one request of a sequence.
type request struct {
	kind, method, path, key string
	body, recordedBody      []byte // recordedBody is body without the CVV and with only the last digits of the card number
	byUser                  bool   // sent with a user's session instead of the merchant's key
}

// requestSequence is the sequence of requests about one transaction or contract. One client at a time works
// on it.
type requestSequence struct {
	number int
	// These fields determine the create request, so that each repetition of the request is the same.
	kind, env, card string
	amount          int
	metaSize        int // bytes of the merchant's data

	contract *contractLifecycle // nil if the sequence is about a transaction
	step     int                // number of the contract's requests, with its creation, that are done or no longer possible

	id, status string // as the last response showed them; empty before the first response
	operations int    // number of requests that changed the transaction
	pending    *request
}

func newRequestSequence(number int, hasLargeData bool, random *rand.Rand) *requestSequence {
	s := &requestSequence{number: number, kind: "payment", env: "prod", card: cards[0], amount: 100 + random.IntN(1000)}
	roll := random.IntN(100)
	if roll < 15 {
		s.contract = &contractLifecycles[random.IntN(len(contractLifecycles))]
		return s
	}
	if roll < 45 {
		s.env = "test" // in this environment terminals hold the money first, see Prepare
	}
	if random.IntN(5) == 0 {
		s.kind = "payout"
	}
	if hasLargeData && random.IntN(2) == 0 {
		s.metaSize = 1 + random.IntN(maxMeta)
	}
	if random.IntN(3) == 0 {
		s.card = cards[random.IntN(len(cards))]
	}
	return s
}

// next returns the next request of the sequence. A request that got no response, or 503, is repeated
// unchanged.
func (s *requestSequence) next(random *rand.Rand) request {
	if s.pending != nil {
		return *s.pending
	}
	r := s.draw(random)
	s.pending = &r
	return r
}

func (s *requestSequence) draw(random *rand.Rand) request {
	if s.contract != nil {
		return s.contractRequest()
	}
	path := "/api/v1/transactions"
	if s.id == "" || random.IntN(20) == 0 {
		return request{
			kind: "create", method: http.MethodPost, path: path,
			body: s.createBody(s.card, `,"cvv":"737"`, s.meta()), recordedBody: s.createBody(s.card[len(s.card)-4:], "", ""),
		}
	}
	change := func(kind, method, path, body string) request {
		s.operations++
		key := fmt.Sprintf("%s-%d-%d", kind, s.number, s.operations)
		return request{kind: kind, method: method, path: path, key: key, body: []byte(body), recordedBody: []byte(body)}
	}
	held := s.status == "payment_suspended" || s.status == "payout_suspended"
	switch roll := random.IntN(10); {
	case held && roll < 3:
		return change("capture", http.MethodPost, path+"/commit/"+s.id, `{"params":{}}`)
	case held && roll < 5 && s.kind == "payment":
		return change("part capture", http.MethodPost, path+"/commit/"+s.id, fmt.Sprintf(`{"params":{"amount":"%d"}}`, s.amount/2))
	case held && roll < 7:
		return change("cancel", http.MethodPut, path+"/"+s.id, `{"params":{"type":"cancel"}}`)
	case s.status == "charged" && s.kind == "payment" && roll < 3:
		return change("refund", http.MethodPut, path+"/"+s.id, fmt.Sprintf(`{"params":{"type":"refund","amount":"%d"}}`, 1+random.IntN(s.amount/4)))
	}
	return request{kind: "read", method: http.MethodGet, path: path + "/" + s.id}
}

// maxMeta bounds the merchant's data, in bytes. The server allows 64 KiB for each transaction.
const maxMeta = 60 << 10

// meta returns the JSON member merchant_meta of the create request, or an empty text if the sequence has no
// such data. Each repetition of the request has the same data.
func (s *requestSequence) meta() string {
	if s.metaSize == 0 {
		return ""
	}
	random, text := rand.New(rand.NewPCG(uint64(s.number), 0)), make([]byte, s.metaSize)
	for i := range text {
		text[i] = 'a' + byte(random.IntN(26))
	}
	return fmt.Sprintf(`"merchant_meta":{"note":%q},`, text)
}

func (s *requestSequence) createBody(card, cvv, meta string) []byte {
	return fmt.Appendf(nil, `{"params":{"txid":"tx-%08d","type":%q,"env":%q,"amount":"%d","currency":"USD",%s`+
		`"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",`+
		`"money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":%q,"exp_month":"12","exp_year":"2040"%s}}}`,
		s.number, s.kind, s.env, s.amount, meta, card, cardholder, cvv)
}

// errUnexpected is the error of a response that no server may give.
var errUnexpected = errors.New("no server may give this response")

// handleResponse checks a response and updates the sequence. The response must not have status 503.
func (s *requestSequence) handleResponse(r *request, status int, response json.RawMessage) error {
	s.pending = nil
	switch {
	case status == http.StatusOK, status == http.StatusCreated:
	case s.contract != nil && s.id != "" && (status == http.StatusConflict || status == http.StatusUnprocessableEntity):
		// Either an earlier request without a response has carried out this action, or the contract's status
		// does not allow the action.
		s.step++
		return nil
	case r.kind != "create" && r.kind != "read" && (status == http.StatusConflict || status == http.StatusUnprocessableEntity):
		s.status = "" // unknown until the next read, because the status has changed since the last response
		return nil
	default:
		return errUnexpected
	}
	var shown struct {
		ID, TxID, Status string
		Data             struct{ ID, Status string }
	}
	if err := json.Unmarshal(response, &shown); err != nil {
		return err
	}
	if s.contract != nil {
		shown.ID, shown.Status = shown.Data.ID, shown.Data.Status
	}
	if shown.ID == "" || s.id != "" && shown.ID != s.id {
		return fmt.Errorf("the response is about %q instead of %q: %w", shown.ID, s.id, errUnexpected)
	}
	if slices.Contains([]string{"rejected", "failed"}, s.status) && shown.Status != s.status {
		return fmt.Errorf("%s was final: %w", s.status, errUnexpected)
	}
	s.id, s.status = shown.ID, shown.Status
	if s.contract != nil && r.method == http.MethodPost {
		s.step++
	}
	return nil
}
