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

// LimitUsage returns how much of a limit is used; *account.Service is one. The subject is
// what directory.Payer.Subject returns; it is empty for the scope partner. The error is a *ledger.Refusal or
// the store's.
type LimitUsage interface {
	Usage(ctx context.Context, l *directory.Limit, subject string) (directory.Usage, error)
}

// readUsage is GET /limits/{id}/usage. If the limit's scope is not the partner, the query must
// name one payer.
func (h *Handlers) readUsage(req *web.Request) error {
	l, err := recordAt(h, req, h.cfg.Directory.Limit)
	if err != nil {
		return err
	}
	subject, err := h.subject(req, l)
	if err != nil {
		return err
	}
	if h.cfg.Usage == nil {
		return ledger.Refuse("admin.readUsage", ledger.Unavailable, "usage of limits is not there yet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	u, err := h.cfg.Usage.Usage(ctx, l, subject)
	if err != nil {
		return err
	}
	if l.Kind.Measure() == directory.Attempts {
		remaining, _ := u.Remaining(l).Uint64() // at most MaxCount
		web.WriteData(req, fiber.StatusOK, usageJSON[int64]{Used: u.Count, Remaining: int64(remaining), Resets: web.Instant(u.Resets)})
	} else {
		web.WriteData(req, fiber.StatusOK, usageJSON[money.Amount]{u.Used, u.Reserved, u.Remaining(l), web.Instant(u.Resets)})
	}
	return nil
}

// Parameters that name the payer.
const (
	ofCard        = "card"
	ofTransaction = "transaction_id"
	ofEmail       = "email"
	ofIP          = "ip"
)

// subject returns the subject for the payer that the query names. A card is named by its
// fingerprint, or by a transaction that was paid with it.
func (h *Handlers) subject(req *web.Request, l *directory.Limit) (string, error) {
	var payer directory.Payer
	var q *web.Query
	payerField := string(l.Scope)
	switch l.Scope {
	case directory.ScopeCard:
		q = web.QueryOf(req.RequestCtx, ofCard, ofTransaction)
		payer.Card = cardPrint(q, ofCard)
		if id, sent := q.ID(ofTransaction); sent {
			payer.Card = h.cardOf(q, l, id)
		}
		payerField = ofCard + " or " + ofTransaction
	case directory.ScopeEmail:
		q = web.QueryOf(req.RequestCtx, ofEmail)
		payer.Email = directory.NormalEmail(q.Text(ofEmail))
	case directory.ScopeIP:
		q = web.QueryOf(req.RequestCtx, ofIP)
		payer.IP = addressOf(q, ofIP)
	default:
		q = web.QueryOf(req.RequestCtx)
	}
	subject, known := payer.Subject(l.Scope)
	if !known && len(q.Problems) == 0 {
		q.Problems.Add(string(l.Scope), payerField+" is required: the limit is for each "+string(l.Scope))
	}
	return subject, q.Problems.Err()
}

// cardOf returns the fingerprint of the card of a transaction of the limit's partner.
func (h *Handlers) cardOf(q *web.Query, l *directory.Limit, id ledger.ID) string {
	result, err := h.cfg.Transactions.Read(l.Org, l.Partner, id)
	switch {
	case ledger.IsRefusal(err, ledger.NotFound):
		q.Problems.Add(ofTransaction, "no such transaction of the partner")
	case err != nil:
		q.Problems = append(q.Problems, web.RefusalsOf(err)...)
	case result.Record.CardFingerprint == "":
		q.Problems.Add(ofTransaction, "the transaction has no card")
	default:
		return result.Record.CardFingerprint
	}
	return ""
}

// cardPrint reads a card's fingerprint: 32 hex digits.
func cardPrint(q *web.Query, name string) string {
	text, sent := q.Sent(name)
	if sent && (len(text) != directory.CardFingerprintLength || strings.Trim(text, "0123456789abcdef") != "") {
		q.Problems.Add(name, name+" must be a card's fingerprint")
		return ""
	}
	return text
}

// addressOf reads an IP address.
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
	return directory.NormalAddress(address)
}

// usageJSON is the usage of a limit: amounts as strings of minor units, or attempts as integers, which are never
// reserved.
type usageJSON[N money.Amount | int64] struct {
	Used      N           `json:"used"`
	Reserved  N           `json:"reserved"`
	Remaining N           `json:"remaining"`
	Resets    web.Instant `json:"resets_at"`
}
