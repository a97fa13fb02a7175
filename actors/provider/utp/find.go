package utp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mizan/actors"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

const (
	// skew is how far the other platform's clock may be from ours. The protocol has
	// five minutes for notifications.
	skew = 15 * time.Minute

	pageSize = 100 // the protocol's greatest
	maxPages = 200 // of one walk for a charge
)

var (
	errAnother    = errors.New("it is about another transaction")
	errTooLong    = errors.New("the list has too many pages")
	errNoProgress = errors.New("the list's cursor does not move")
)

// isIt holds an answer about a known transaction against its id and our name.
func (s *subject) isIt(tx *transaction, id string) error {
	if tx.txid != s.reference.String() || id != "" && tx.id != id {
		return errAnother
	}
	return nil
}

// identify is the other platform's id of the subject's charge; empty: the outcome
// says why it is not known.
func (p *Provider) identify(ctx context.Context, s *subject) (string, actors.Outcome) {
	if id, _ := kept(s.Meta); id != "" {
		return id, actors.Outcome{}
	}
	tx, o := p.find(ctx, s)
	if tx == nil {
		return "", o
	}
	return tx.id, actors.Outcome{}
}

// find is the other platform's transaction for our charge; nil: the outcome says
// why there is none.
func (p *Provider) find(ctx context.Context, s *subject) (*transaction, actors.Outcome) {
	if id, _ := kept(s.Meta); id != "" {
		return p.read(ctx, s, id)
	}
	query := url.Values{"started_from": {moment(s.Since.Add(-skew))}}
	if !s.Charge.IsZero() {
		query.Set("amount_from", s.Charge.String())
		query.Set("amount_to", s.Charge.String())
	}
	var found *transaction
	r, err := p.walk(ctx, accountOf(s.terminal), query, maxPages, func(tx *transaction) bool {
		if s.isIt(tx, "") == nil {
			found = tx
		}
		return found == nil
	})
	switch {
	case found != nil:
		return found, actors.Outcome{}
	case err != nil:
		return nil, p.unreadable(s, err)
	case r != nil:
		return nil, p.failure(s, r, false)
	}
	return nil, actors.Outcome{Verdict: payment.VerdictNotFound}
}

// read is how a transaction stands whose id there is known.
func (p *Provider) read(ctx context.Context, s *subject, id string) (*transaction, actors.Outcome) {
	r := p.exchange(ctx, s.terminal.Connection, &request{method: http.MethodGet, path: transactionsPath + "/" + id})
	tx, err := s.answer(r, id)
	switch {
	case err != nil:
		return nil, p.unreadable(s, err)
	case tx == nil:
		return nil, p.failure(s, r, false)
	}
	return tx, actors.Outcome{}
}

// walk goes through the pages of a list, newest first, until visit says that it has
// enough. A reply is the page that was not given; an error that one can't be
// read, or that there are more than bound.
func (p *Provider) walk(ctx context.Context, a account, query url.Values, bound int, visit func(*transaction) bool) (*reply, error) {
	query.Set("env", a.env)
	query.Set("limit", strconv.Itoa(pageSize))
	for range bound {
		paged, cancel := context.WithTimeout(ctx, p.timeout)
		r := p.exchange(paged, &a.Connection, &request{method: http.MethodGet, path: transactionsPath, query: query})
		cancel()
		if !r.fine() {
			return r, nil
		}
		rows, next, err := readPage(r.body)
		if err != nil {
			return nil, err
		}
		for _, tx := range rows {
			if !visit(tx) {
				return nil, nil
			}
		}
		switch next {
		case "":
			return nil, nil
		case query.Get("cursor"):
			return nil, errNoProgress
		}
		query.Set("cursor", next)
	}
	return nil, errTooLong
}

// readPage reads a page of the list and what to ask for next; empty: it was the
// last.
func readPage(text []byte) (rows []*transaction, next string, err error) {
	o, err := readObject(text)
	if err != nil {
		return nil, "", err
	}
	f := fields{object: o}
	data, cursor := f.list("data"), f.member("cursor")
	if f.err != nil || data == nil || cursor == nil {
		return nil, "", errShape
	}
	c := fields{object: cursor}
	if next = c.text("cursor_value"); c.err != nil {
		return nil, "", c.err
	}
	for _, raw := range data {
		tx, err := readTransaction(raw)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, tx)
	}
	return rows, next, nil
}

// moment is a time as the protocol's queries take it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// createBody is the body of a create. The card goes from its bytes into the
// body's, which are overwritten when they are sent, and never through a string.
func createBody(call *actors.Call) []byte {
	env := accountOf(call.Terminal).env
	params := map[string]any{
		"type": kindOf(call.Operation), "amount": call.Amount.String(), "currency": string(call.Asset.Currency), "env": env,
		"txid": call.Reference.String(), "merchant_meta": map[string]string{metaTerminal: call.Terminal.ID.String()},
	}
	if call.Asset.Network != "" {
		params["network"] = string(call.Asset.Network)
	}
	if call.ReturnURL != nil {
		back := call.ReturnURL()
		params["returnUrl"], params["failUrl"] = back, back
	}
	text, _ := json.Marshal(params) // texts have a form
	size := len(text) + len(call.Method) + 256
	if c := call.Card; c != nil {
		size += len(c.Number) + 6*len(c.Holder) + len(c.ExpMonth) + len(c.ExpYear) + len(c.CVV)
	}
	to := append(append(make([]byte, 0, size), `{"params":`...), text[:len(text)-1]...)
	to = append(append(append(to, `,"money_storage":{"type":"`...), call.Method...), '"')
	if c := call.Card; c != nil {
		to = appendMember(to, "cardnumber", c.Number)
		to = appendMember(to, "cardholder", c.Holder)
		to = appendMember(to, "exp_month", c.ExpMonth)
		to = appendMember(to, "exp_year", c.ExpYear)
		to = appendMember(to, "cvv", c.CVV)
	}
	return append(to, "}}}"...)
}

// appendMember writes a text of a card, which is UTF-8; what is not there is left out.
func appendMember(to []byte, name string, value []byte) []byte {
	const hex = "0123456789abcdef"
	if len(value) == 0 {
		return to
	}
	to = append(append(append(to, `,"`...), name...), `":"`...)
	for _, b := range value {
		switch {
		case b == '"' || b == '\\':
			to = append(to, '\\', b)
		case b < ' ':
			to = append(to, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			to = append(to, b)
		}
	}
	return append(to, '"')
}

// account is who we are at a platform, in one environment. Terminals may share one.
type account struct {
	directory.Connection
	env string // of the transactions there
}

// accountOf is the terminal's account. What only our side of it is about is left
// out, so that equal accounts are equal.
func accountOf(t *directory.Terminal) account {
	a := account{env: t.Env.String()}
	if t.Connection == nil {
		return a // its address is none: nothing is sent
	}
	a.Connection = *t.Connection
	if a.Env.Valid() {
		a.env = a.Env.String()
	}
	a.WebhookSecret, a.Env = "", 0
	return a
}
