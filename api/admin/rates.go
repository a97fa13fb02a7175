package admin

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/jsonwalk"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// showRate writes the fields of a rate between two currencies.
var showRate = records.FieldsOf(directory.Rates)

// putRate is PUT /rates {from,to,rate}: it sets the rate of a pair of currencies.
func (h *Handlers) putRate(req *web.Request) error {
	reply := records.Reply[*directory.Rate]{Status: fiber.StatusOK, Append: showRate}
	return createRecord(h, req, reply, directory.Rates, h.cfg.Directory.PutRate)
}

// listRates is GET /rates: it lists the pairs of currencies, beginning with the pair that was added last.
func (h *Handlers) listRates(req *web.Request) error {
	org, p, err := h.organizationAndPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showRate)(h.cfg.Directory.ListRates(org, p))
}

// readRate is GET /rates/{id}.
func (h *Handlers) readRate(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.RateByID, showRate)
}

// currency reads the code of a currency that transactions accept. Any other value is refused in the specification's words, and
// quoted in the refusal. A value that is not a string is quoted as it was sent.
func (f form) currency(name string) money.Currency {
	value := web.Member(f.Object, name)
	if value == nil {
		f.Problems.Add(name, name+" is required")
		return ""
	}
	code, isText := jsonwalk.Text(value)
	if !isText {
		code = value
	} else if currency, accepted := money.AcceptedCurrency(string(code)); accepted {
		return currency
	}
	f.Problems.Add(name, money.UnsupportedCurrencyMessage(code))
	return ""
}
