package admin

import (
	"encoding/json"
	"html/template"
	"net/url"
	"time"

	"mizan/api/console/labels"
	"mizan/api/console/visit"
)

// healthDays is the number of days whose payments count for a partner's health. Today is one of them.
const healthDays = 7

// health counts a partner's payments in the last healthDays days.
type health struct {
	attempts, charged int
	last              string // time of the last attempt (RFC 3339); empty if there was none
}

// healthOf reads a partner's turnover, and counts the partner's payments.
func healthOf(v *visit.Visit, partner string) (found health, err error) {
	var answer struct {
		Data []struct {
			Type              string
			Attempts, Charged int
			LastAt            string `json:"last_at"`
		}
	}
	from := v.Now().AddDate(0, 0, 1-healthDays).Format(time.DateOnly)
	if err := v.Get("/api/v1/turnover", url.Values{"partner_id": {partner}, "from": {from}}, &answer); err != nil {
		return found, err
	}
	for _, day := range answer.Data {
		if day.Type == "payment" {
			found.attempts += day.Attempts
			found.charged += day.Charged
			found.last = max(found.last, day.LastAt)
		}
	}
	return found, nil
}

// healthCells returns, for each partner, the percentage of payments that succeeded and the time of the last one. It sends one
// API request for each partner.
func healthCells(v *visit.Visit, rows []map[string]any) (cells []template.HTML, err error) {
	t, l := textsIn(v.T.Lang), labels.In(v.T.Lang)
	for _, row := range rows {
		number, _ := row["id"].(json.Number)
		h, err := healthOf(v, number.String())
		if err != nil {
			return nil, err
		}
		if h.attempts == 0 {
			cells = append(cells, muted(t.Health.None))
			continue
		}
		text := l.Fill(t.Health.Rate, "percent", l.Number(100*h.charged/h.attempts), "attempts", l.Number(h.attempts))
		cell := template.HTML(template.HTMLEscapeString(text))
		if at, err := time.Parse(time.RFC3339Nano, h.last); err == nil {
			cell += `<br><time class="muted" datetime="` + template.HTML(template.HTMLEscapeString(h.last)) + `">` + template.HTML(template.HTMLEscapeString(l.ShortDateTime(at))) + `</time>`
		}
		cells = append(cells, cell)
	}
	return cells, nil
}
