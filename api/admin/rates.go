package admin

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

var showRate = fieldsOf(directory.Rates)

// putRate is PUT /rates {from,to,rate}: it sets the rate of a pair.
func (h *Handlers) putRate(req *web.Request) error {
	reply := writeReply[*directory.Rate]{status: fiber.StatusOK, append: showRate}
	return createRecord(h, req, reply, directory.Rates, h.cfg.Directory.PutRate)
}

// listRates is GET /rates: the pairs, ordered by the time of their first rate, latest first.
func (h *Handlers) listRates(req *web.Request) error {
	org, p, err := h.organizationAndPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showRate)(h.cfg.Directory.ListRates(org, p))
}

// currency reads the code of a currency that transactions accept. The refusal of any other
// value has the specification's wording; a number is quoted as it was sent.
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
	f.problems.Add(name, money.Unsupported(code))
	return ""
}
