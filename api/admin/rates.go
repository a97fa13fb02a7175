package admin

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// putRate is PUT /rates {from,to,rate}: it sets the rate of a pair.
func (h *Handlers) putRate(req *web.Request) error {
	how := change[*directory.Rate]{status: fiber.StatusOK, append: appendRate}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (*directory.Rate, error) {
		f, err := formOf(req, "from", "to", "rate")
		if err != nil {
			return nil, err
		}
		draft := directory.RateDraft{From: f.currency("from"), To: f.currency("to"), Value: f.rate("rate")}
		return decide(ctx, f, func(ctx context.Context) (*directory.Rate, error) {
			return h.cfg.Directory.PutRate(ctx, org, draft)
		})
	})
}

// listRates is GET /rates, ordered by the time of each pair's first rate, latest first.
func (h *Handlers) listRates(req *web.Request) error {
	org, p, err := h.organizationAndPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, appendRate)(h.cfg.Directory.ListRates(org, p))
}

// currency reads the code of a currency that transactions accept. The refusal of another one
// has the specification's words; a number is quoted as it was sent.
func (f *form) currency(name string) money.Currency {
	value := web.Member(f.object, name)
	if value == nil {
		f.problems.Add(name, name+" is required")
		return ""
	}
	code, isText := jsonwalk.Text(value)
	if !isText {
		code = value
	} else if currency, accepted := money.Accepted(string(code)); accepted {
		return currency
	}
	f.problems.Add(name, web.UnsupportedCurrency(code))
	return ""
}

// rate reads a decimal number above zero, in a string.
func (f *form) rate(name string) money.Rate {
	value := web.Member(f.object, name)
	if value == nil {
		f.problems.Add(name, name+" is required")
		return money.Rate{}
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.problems.Add(name, name+" must be a decimal number in a string")
		return money.Rate{}
	}
	rate, err := money.ParseRate(string(text))
	if err != nil {
		f.problems.Add(name, name+" must be a decimal number above zero, of at most "+strconv.Itoa(money.MaxRateDigits)+" digits")
	}
	return rate
}

func appendRate(e *web.Encoder, r *directory.Rate) {
	e.ID("id", r.ID)
	e.Word("from", string(r.From))
	e.Word("to", string(r.To))
	e.Word("rate", r.Value.String())
	appendBooked(e, "created_at", r.Created)
	appendBooked(e, "updated_at", r.Updated)
}
