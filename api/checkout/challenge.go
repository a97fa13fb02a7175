package checkout

import (
	"errors"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/actors/provider/simulator"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Challenges finds the simulator's challenges and records payers' decisions. A challenge is a page on which a simulated bank
// asks the payer to approve or refuse. *simulator.Simulator implements the interface. If the challenge is unknown, the methods
// return simulator.ErrNoChallenge.
type Challenges interface {
	// Challenge returns the content of the page.
	Challenge(terminal, reference ledger.ID, token string) (simulator.Challenge, error)
	// Decide records the payer's decision. It returns the transaction's organization, and the address to which the payer is
	// redirected.
	Decide(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, err error)
}

// challengeID identifies a challenge by the terminal and the reference of the charge. The secret token proves that the payer
// may see the challenge.
type challengeID struct {
	terminal, reference ledger.ID
	token               string
}

// showChallenge is GET /simulator/challenge: the page with the challenge.
func (h *Handlers) showChallenge(req *web.Request) error {
	return h.sendChallenge(req, &formFields{})
}

// postChallenge is POST /simulator/challenge. If the form contains no decision, the response is the page with the challenge
// again. If it contains one, the transaction is updated before the payer is sent back, so that the merchant sees the outcome.
func (h *Handlers) postChallenge(req *web.Request) error {
	fields, status := readForm(req.Request.Header.ContentType(), req.Request.Body())
	if status != fiber.StatusOK {
		return h.sendNotice(req, status, "", page.Malformed)
	}
	defer fields.wipe()
	approve, decided := readDecision(fields)
	if !decided {
		return h.sendChallenge(req, fields)
	}
	id, ok := readChallengeID(req, fields)
	if !ok {
		return h.sendNoChallenge(req, simulator.ErrNoChallenge)
	}
	returnURL, org, err := h.cfg.Challenges.Decide(id.terminal, id.reference, id.token, approve)
	if err != nil {
		return h.sendNoChallenge(req, err)
	}
	req.SetOwner(org, 0)
	if _, err := h.cfg.Payers.OnChargeReturn(org, id.reference); err != nil && codeOf(err) == ledger.Internal {
		return h.sendError(req, &visitor{}, err)
	}
	if !h.mayLeadTo(returnURL) {
		return h.sendChallenge(req, fields)
	}
	return h.redirect(req, returnURL)
}

func (h *Handlers) sendChallenge(req *web.Request, fields *formFields) error {
	id, ok := readChallengeID(req, fields)
	if !ok {
		return h.sendNoChallenge(req, simulator.ErrNoChallenge)
	}
	challenge, err := h.cfg.Challenges.Challenge(id.terminal, id.reference, id.token)
	if err != nil {
		return h.sendNoChallenge(req, err)
	}
	amount, err := money.Parse(challenge.Amount)
	if err != nil {
		return h.sendNoChallenge(req, err)
	}
	p := page.Challenge{
		Order: page.Order{Sum: page.Sum{Amount: amount, Asset: challenge.Asset}},
		Post:  simulator.ChallengePath,
		Fields: []page.Field{
			{Name: simulator.TerminalParam, Value: id.terminal.String()},
			{Name: simulator.ReferenceParam, Value: id.reference.String()},
			{Name: simulator.TokenParam, Value: id.token},
		},
		Open: challenge.State == simulator.ChallengeOpen,
	}
	if h.mayLeadTo(challenge.ReturnURL) {
		p.Back = challenge.ReturnURL
	}
	return h.sendPage(req, fiber.StatusOK, "", p)
}

// simulatedButtons returns the buttons that decide a challenge of the simulator. If the action is from a real provider, it
// returns nil.
func (h *Handlers) simulatedButtons(a *payment.Action) *page.SimulatedForm {
	query, isSimulated := strings.CutPrefix(a.Page, h.cfg.Pages.Base+simulator.ChallengePath+"?")
	values, err := url.ParseQuery(query)
	if h.cfg.Challenges == nil || !isSimulated || err != nil {
		return nil
	}
	b := &page.SimulatedForm{Post: simulator.ChallengePath}
	for _, name := range []string{simulator.TerminalParam, simulator.ReferenceParam, simulator.TokenParam} {
		b.Fields = append(b.Fields, page.Field{Name: name, Value: values.Get(name)})
	}
	return b
}

// sendNoChallenge responds with a page that says why the challenge cannot be shown.
func (h *Handlers) sendNoChallenge(req *web.Request, err error) error {
	if errors.Is(err, simulator.ErrNoChallenge) {
		return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	return h.sendError(req, &visitor{}, err)
}

// readChallengeID reads the parts of a challenge's id from the form. Parts that the form does not contain are read from the
// query.
func readChallengeID(req *web.Request, fields *formFields) (id challengeID, ok bool) {
	parameter := func(name string) string {
		if value := fields.value(name); value != nil {
			return string(value)
		}
		return string(req.QueryArgs().Peek(name))
	}
	var err error
	if id.terminal, err = web.ParseID(parameter(simulator.TerminalParam)); err != nil {
		return id, false
	}
	if id.reference, err = web.ParseID(parameter(simulator.ReferenceParam)); err != nil {
		return id, false
	}
	id.token = parameter(simulator.TokenParam)
	return id, true
}

// readDecision finds out which button of the form was pressed. The button sends a field whose name or value is "approve" or
// "refuse". If the form contains neither or both, decided is false.
func readDecision(fields *formFields) (approve, decided bool) {
	refuse := false
	for _, field := range fields.fields {
		for _, word := range [...]string{string(field.name), string(field.value)} {
			approve = approve || strings.EqualFold(word, "approve")
			refuse = refuse || strings.EqualFold(word, "refuse")
		}
	}
	return approve, approve != refuse
}
