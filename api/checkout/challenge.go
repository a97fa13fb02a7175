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

// Challenges is the simulator's side of its challenge page; *simulator.Simulator is one. The
// error for an unknown challenge is simulator.ErrNoChallenge.
type Challenges interface {
	// Challenge returns the content of the page.
	Challenge(terminal, reference ledger.ID, token string) (simulator.Challenge, error)
	// Decide records the payer's decision. It returns the address to which the payer goes, and the
	// organization of the charge.
	Decide(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, err error)
}

// challengeID names a challenge.
type challengeID struct {
	terminal, reference ledger.ID
	token               string
}

// showChallenge is GET /simulator/challenge: the page of a simulated bank.
func (h *Handlers) showChallenge(req *web.Request) error {
	return h.challenge(req, &formFields{})
}

// postChallenge is POST /simulator/challenge. Without a decision the request is a provider's form
// that leads to the page, so the page is shown. With one, the transaction is updated before the
// payer returns, so that the merchant sees the outcome.
func (h *Handlers) postChallenge(req *web.Request) error {
	fields, status := readForm(req.Request.Header.ContentType(), req.Request.Body())
	if status != fiber.StatusOK {
		return h.notice(req, status, "", page.Malformed)
	}
	approve, decided := decision(fields)
	if !decided {
		return h.challenge(req, fields)
	}
	id, ok := challengeOf(req, fields)
	if !ok {
		return h.noChallenge(req, simulator.ErrNoChallenge)
	}
	returnURL, org, err := h.cfg.Challenges.Decide(id.terminal, id.reference, id.token, approve)
	if err != nil {
		return h.noChallenge(req, err)
	}
	if _, err := h.cfg.Payers.Returned(org, id.reference); err != nil && codeOf(err) == ledger.Internal {
		return h.sendError(req, &visit{}, err)
	}
	if !h.mayLeadTo(returnURL) {
		return h.challenge(req, fields)
	}
	return h.redirect(req, returnURL)
}

func (h *Handlers) challenge(req *web.Request, fields *formFields) error {
	id, ok := challengeOf(req, fields)
	if !ok {
		return h.noChallenge(req, simulator.ErrNoChallenge)
	}
	challenge, err := h.cfg.Challenges.Challenge(id.terminal, id.reference, id.token)
	if err != nil {
		return h.noChallenge(req, err)
	}
	amount, err := money.Parse(challenge.Amount)
	if err != nil {
		return h.noChallenge(req, err)
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

// simulatedButtons returns the buttons of the simulator's challenge; nil for another provider.
func (h *Handlers) simulatedButtons(a *payment.Action) *page.Simulated {
	query, isSimulated := strings.CutPrefix(a.Page, h.cfg.Pages.Base+simulator.ChallengePath+"?")
	values, err := url.ParseQuery(query)
	if h.cfg.Challenges == nil || !isSimulated || err != nil {
		return nil
	}
	b := &page.Simulated{Post: simulator.ChallengePath}
	for _, name := range []string{simulator.TerminalParam, simulator.ReferenceParam, simulator.TokenParam} {
		b.Fields = append(b.Fields, page.Field{Name: name, Value: values.Get(name)})
	}
	return b
}

// noChallenge responds with a page if the challenge cannot be shown.
func (h *Handlers) noChallenge(req *web.Request, err error) error {
	if errors.Is(err, simulator.ErrNoChallenge) {
		return h.notice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	return h.sendError(req, &visit{}, err)
}

// challengeOf reads the id of the challenge from the form, or from the query if the form has
// none.
func challengeOf(req *web.Request, fields *formFields) (id challengeID, ok bool) {
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

// decision reads which button of the form was pressed: a field whose name or value is approve
// or refuse. decided is false if both were sent.
func decision(fields *formFields) (approve, decided bool) {
	refuse := false
	for _, field := range fields.fields {
		for _, word := range [...]string{string(field.name), string(field.value)} {
			approve = approve || strings.EqualFold(word, "approve")
			refuse = refuse || strings.EqualFold(word, "refuse")
		}
	}
	return approve, approve != refuse
}
