package admin

import (
	"encoding/json"
	"html/template"
	"math/big"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/money"
)

// usageCells returns, for each limit, a bar that shows how much of the limit is used. It sends one API request for each limit.
func usageCells(v *visit.Visit, rows []map[string]any) (cells []template.HTML, err error) {
	for _, row := range rows {
		cell, err := usageOf(v, row)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// usageSection returns the bar for the page of a limit. The bar shows how much of the limit is used.
func usageSection(v *visit.Visit, _ string, limit map[string]any) (template.HTML, error) {
	bar, err := usageOf(v, limit)
	title := template.HTML(template.HTMLEscapeString(textsIn(v.T.Lang).Usage.Title))
	return `<h2>` + title + `</h2><p>` + bar + `</p>`, err
}

// usageOf returns the bar of a limit. For a limit that counts each payer separately, there is no bar, because the API would
// need to know the payer.
func usageOf(v *visit.Visit, limit map[string]any) (template.HTML, error) {
	t := textsIn(v.T.Lang)
	id, _ := limit["id"].(string)
	switch {
	case limit["scope"] != "partner":
		return muted(t.Usage.PerPayer), nil
	case limit["kind"] == "per_transaction":
		return muted(t.Usage.None), nil
	}
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: "/api/v1/limits/" + id + "/usage"})
	if refused := answer.Refusal(); refused != nil {
		return "", refused
	}
	var usage struct {
		Data struct{ Used, Reserved, Remaining json.RawMessage }
	}
	if err := answer.Decode(&usage); err != nil {
		return "", err
	}
	used, remaining := numberOf(usage.Data.Used), numberOf(usage.Data.Remaining)
	used.Add(used, numberOf(usage.Data.Reserved))
	whole := new(big.Int).Add(used, remaining)
	return bar(v, limit, used, whole), nil
}

// numberOf reads a JSON number, or a JSON string of digits.
func numberOf(raw json.RawMessage) *big.Int {
	var text json.Number
	n := new(big.Int)
	if json.Unmarshal(raw, &text) == nil {
		n.SetString(text.String(), 10)
	}
	return n
}

// bar returns a bar that shows which part of the whole is used. Both numbers follow as text.
func bar(v *visit.Visit, limit map[string]any, used, whole *big.Int) template.HTML {
	percent := 0
	if whole.Sign() > 0 {
		percent = int(new(big.Int).Div(new(big.Int).Mul(used, big.NewInt(100)), whole).Int64())
	}
	l := labels.In(v.T.Lang)
	words := l.Fill(textsIn(v.T.Lang).Usage.Used, "used", amountText(l, limit, used), "limit", amountText(l, limit, whole))
	const high = "80" // percent
	return template.HTML(`<meter min="0" max="100" high="` + high + `" optimum="0" value="` + big.NewInt(int64(percent)).String() + `">` + template.HTMLEscapeString(words) +
		`</meter> <span class="muted">` + template.HTMLEscapeString(words) + `</span>`)
}

// amountText formats a number that a limit counts: an amount of the limit's asset, or a number of attempts.
func amountText(l *labels.Texts, limit map[string]any, n *big.Int) string {
	asset, hasAsset := form.AssetIn(limit)
	amount, err := money.Parse(n.String())
	if limit["kind"] == "velocity" || !hasAsset || err != nil {
		return n.String()
	}
	return l.Amount(amount, asset)
}

func muted(text string) template.HTML {
	return `<span class="muted">` + template.HTML(template.HTMLEscapeString(text)) + `</span>`
}
