package admin

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// UsageReader returns how much of a limit is used; *account.Service is one. The subject names the payer and comes from
// directory.Payer.Subject. If the limit's scope is the whole partner, the subject is empty. Usage returns a *ledger.Refusal or
// an error of the store.
type UsageReader interface {
	Usage(ctx context.Context, l *directory.Limit, subject string) (directory.Usage, error)
}

// readUsage is GET /limits/{id}/usage. The query must name one payer, unless the limit's scope is the whole partner.
func (h *Handlers) readUsage(req *web.Request) error {
	l, err := recordAt(h, req, h.cfg.Directory.Limit)
	if err != nil {
		return err
	}
	subject, err := h.subject(req, l)
	if err != nil {
		return err
	}
	if h.cfg.UsageReader == nil {
		return ledger.Refuse("admin.readUsage", ledger.Unavailable, "usage of limits is not there yet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	usage, err := h.cfg.UsageReader.Usage(ctx, l, subject)
	if err != nil {
		return err
	}
	if l.Kind.Measure() == directory.Attempts {
		remaining, _ := usage.Remaining(l).Uint64() // no overflow, because a limit counts at most MaxCount attempts
		web.WriteData(req, fiber.StatusOK, usageJSON[int64]{Used: usage.Count, Remaining: int64(remaining), Resets: web.Instant(usage.ResetsAt)})
	} else {
		web.WriteData(req, fiber.StatusOK, usageJSON[money.Amount]{usage.SettledAmount, usage.ReservedAmount, usage.Remaining(l), web.Instant(usage.ResetsAt)})
	}
	return nil
}

// Query parameters that name the payer.
const (
	cardParameter        = "card"
	transactionParameter = "transaction_id"
	emailParameter       = "email"
	ipParameter          = "ip"
)

// subject returns the payer whom the query names, in the form in which the limit counts payers (see directory.Payer.Subject).
// The query names a card by its fingerprint, or by a transaction that was paid with the card.
func (h *Handlers) subject(req *web.Request, l *directory.Limit) (string, error) {
	var payer directory.Payer
	var q *web.Query
	wantedParameters := string(l.Scope)
	switch l.Scope {
	case directory.ScopeCard:
		q = web.QueryOf(req.RequestCtx, cardParameter, transactionParameter)
		payer.Card = cardFingerprint(q, cardParameter)
		if id, sent := q.ID(transactionParameter); sent {
			payer.Card = h.fingerprintOfCard(q, l, id)
		}
		wantedParameters = cardParameter + " or " + transactionParameter
	case directory.ScopeEmail:
		q = web.QueryOf(req.RequestCtx, emailParameter)
		payer.Email = directory.NormalEmail(q.Text(emailParameter))
	case directory.ScopeIP:
		q = web.QueryOf(req.RequestCtx, ipParameter)
		payer.IP = addressOf(q, ipParameter)
	default:
		q = web.QueryOf(req.RequestCtx)
	}
	subject, known := payer.Subject(l.Scope)
	if !known && len(q.Problems) == 0 {
		q.Problems.Add(string(l.Scope), wantedParameters+" is required: the limit is for each "+string(l.Scope))
	}
	return subject, q.Problems.Err()
}

// fingerprintOfCard returns the fingerprint of the card with which a transaction of the limit's partner was paid.
func (h *Handlers) fingerprintOfCard(q *web.Query, l *directory.Limit, id ledger.ID) string {
	result, err := h.cfg.Transactions.Read(l.Org, l.Partner, id)
	switch {
	case ledger.IsRefusal(err, ledger.NotFound):
		q.Problems.Add(transactionParameter, "no such transaction of the partner")
	case err != nil:
		q.Problems = append(q.Problems, web.RefusalsOf(err)...)
	case result.Record.CardFingerprint == "":
		q.Problems.Add(transactionParameter, "the transaction has no card")
	default:
		return result.Record.CardFingerprint
	}
	return ""
}

// cardFingerprint reads a query parameter that is a card's fingerprint: 32 hex digits.
func cardFingerprint(q *web.Query, name string) string {
	text, sent := q.Sent(name)
	if sent && (len(text) != directory.CardFingerprintLength || strings.Trim(text, "0123456789abcdef") != "") {
		q.Problems.Add(name, name+" must be a card's fingerprint")
		return ""
	}
	return text
}

// addressOf reads a query parameter that is an IP address.
func addressOf(q *web.Query, name string) netip.Addr {
	text, sent := q.Sent(name)
	if !sent {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		q.Problems.Add(name, name+" must be an IP address")
		return netip.Addr{}
	}
	return directory.NormalIP(address)
}

// usageJSON is the usage of a limit. Amounts are strings of minor units. For a limit of attempts, the values are numbers and
// Reserved is 0.
type usageJSON[N money.Amount | int64] struct {
	Used      N           `json:"used"`
	Reserved  N           `json:"reserved"`
	Remaining N           `json:"remaining"`
	Resets    web.Instant `json:"resets_at"`
}
