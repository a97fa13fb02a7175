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
	// skew is the maximum difference between the other platform's clock and ours. It is longer than the five minutes
	// that the protocol allows for notifications.
	skew = 15 * time.Minute

	pageSize = 100 // the protocol's maximum
	maxPages = 200 // maximum number of pages that one search for a charge reads
)

var (
	errOtherTransaction = errors.New("it is about another transaction")
	errTooManyPages     = errors.New("the list has too many pages")
	errNoProgress       = errors.New("the list's cursor does not move")
)

// checkIdentity checks that a transaction in a response has our txid and the given id. If the id is not known
// yet, it is empty and is not checked.
func (s *subject) checkIdentity(tx *transaction, id string) error {
	if tx.txid != s.reference.String() || id != "" && tx.id != id {
		return errOtherTransaction
	}
	return nil
}

// findID returns the id that the other platform gave the subject's charge. If the id cannot be found, it is empty and
// the outcome says why.
func (p *Provider) findID(ctx context.Context, s *subject) (string, actors.Outcome) {
	if id, _ := storedIDs(s.Meta); id != "" {
		return id, actors.Outcome{}
	}
	tx, o := p.find(ctx, s)
	if tx == nil {
		return "", o
	}
	return tx.id, actors.Outcome{}
}

// find returns the other platform's transaction for our charge. If there is none, or it cannot be read, the result is
// nil and the outcome says why.
func (p *Provider) find(ctx context.Context, s *subject) (*transaction, actors.Outcome) {
	if id, _ := storedIDs(s.Meta); id != "" {
		return p.read(ctx, s, id)
	}
	query := url.Values{"started_from": {queryTime(s.SubmittedSince.Add(-skew))}}
	if !s.ChargedAmount.IsZero() {
		query.Set("amount_from", s.ChargedAmount.String())
		query.Set("amount_to", s.ChargedAmount.String())
	}
	var found *transaction
	r, err := p.walkList(ctx, accountOf(s.terminal), query, maxPages, func(tx *transaction) bool {
		if s.checkIdentity(tx, "") == nil {
			found = tx
		}
		return found == nil
	})
	switch {
	case found != nil:
		return found, actors.Outcome{}
	case err != nil:
		return nil, p.unreadableOutcome(s, err)
	case r != nil:
		return nil, p.failureOutcome(s, r, false)
	}
	return nil, actors.Outcome{Verdict: payment.VerdictNotFound}
}

// read reads the transaction with this id from the other platform.
func (p *Provider) read(ctx context.Context, s *subject, id string) (*transaction, actors.Outcome) {
	r := p.exchange(ctx, connectionOf(s.terminal), &request{method: http.MethodGet, path: transactionsPath + "/" + id})
	tx, err := s.transactionIn(r, id)
	switch {
	case err != nil:
		return nil, p.unreadableOutcome(s, err)
	case tx == nil:
		return nil, p.failureOutcome(s, r, false)
	}
	return tx, actors.Outcome{}
}

// walkList reads the pages of a list, newest first, and calls visit for each transaction until visit returns
// false. If a request fails, walkList stops and returns the failed reply. The error says that a page cannot be
// parsed, that the list's cursor does not move, or that the list has more than pageBound pages.
func (p *Provider) walkList(ctx context.Context, a account, query url.Values, pageBound int, visit func(*transaction) bool) (*reply, error) {
	query.Set("env", a.env)
	query.Set("limit", strconv.Itoa(pageSize))
	for range pageBound {
		pageCtx, cancel := context.WithTimeout(ctx, p.timeout)
		r := p.exchange(pageCtx, &a.Connection, &request{method: http.MethodGet, path: transactionsPath, query: query})
		cancel()
		if !r.succeeded() {
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
	return nil, errTooManyPages
}

// readPage parses a page of the list. It returns the page's transactions and the cursor of the next page; on the last
// page the cursor is empty.
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

// queryTime formats a time for the query of a request.
func queryTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// createBody writes the body of the request that creates the charge. The card's bytes are copied into the body, which is
// overwritten after it is sent. They are never copied into a string, which could not be overwritten.
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
		returnURL := call.ReturnURL()
		params["returnUrl"], params["failUrl"] = returnURL, returnURL
	}
	text, _ := json.Marshal(params) // cannot fail with these values
	size := len(text) + len(call.Method) + 256
	if c := call.Card; c != nil {
		size += len(c.Number) + 6*len(c.Holder) + len(c.ExpMonth) + len(c.ExpYear) + len(c.CVV) + len(c.IBAN)
	}
	body := append(append(make([]byte, 0, size), `{"params":`...), text[:len(text)-1]...)
	body = append(append(append(body, `,"money_storage":{"type":"`...), call.Method...), '"')
	if c := call.Card; c != nil && len(c.IBAN) > 0 {
		body = appendMember(body, "iban", c.IBAN)
		body = appendMember(body, "account_holder", c.Holder)
	} else if c != nil {
		body = appendMember(body, "cardnumber", c.Number)
		body = appendMember(body, "cardholder", c.Holder)
		body = appendMember(body, "exp_month", c.ExpMonth)
		body = appendMember(body, "exp_year", c.ExpYear)
		body = appendMember(body, "cvv", c.CVV)
	}
	return append(body, "}}}"...)
}

// appendMember writes a member of a JSON object whose value is a text of the card, in UTF-8. If the text is
// empty, it writes nothing.
func appendMember(dst []byte, name string, value []byte) []byte {
	const hex = "0123456789abcdef"
	if len(value) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	for _, b := range value {
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return append(dst, '"')
}

// account is an account of ours at another platform, in one environment. Several terminals may share an account.
type account struct {
	Connection
	env string // environment of the transactions there
}

// accountOf returns the terminal's account. It clears the settings that are not part of the account, so that
// all terminals of an account return equal values.
func accountOf(t *directory.Terminal) account {
	a := account{Connection: *connectionOf(t), env: t.Env.String()}
	if a.Env.IsValid() {
		a.env = a.Env.String()
	}
	a.WebhookSecret, a.Env = "", 0
	return a
}
