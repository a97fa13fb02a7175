package auditor

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
)

// periodLine is a closed month.
type periodLine struct {
	period
	Event string            // address of the event that closed the month
	Trial map[string]string // addresses of the trial balances whose hash this event contains, by environment
}

type periodsPage struct {
	Rows     []periodLine
	Pager    pager
	MayClose bool
	Month    string // the month that the form suggests; empty if none
}

// showPeriods is GET /console/ledger/periods: the closed months, the latest first.
func showPeriods(v *visit.Visit) error {
	if month := v.Query("month"); month != "" && v.Has(directory.Admin) {
		return v.Redirect(closingPath(month), false)
	}
	q := query(v, "limit", "cursor")
	p := periodsPage{MayClose: v.Has(directory.Admin)}
	l, err := readList[period](v, apiPeriods, q)
	problem, err := refusedFields(err)
	if err != nil {
		return err
	}
	for _, r := range l.Data {
		p.Rows = append(p.Rows, periodLine{r, eventAddress(eventsPath, r.Seq), monthEnds(r.Month)})
	}
	if len(l.Data) > 0 && !q.Has("cursor") {
		if last, err := time.Parse(monthLayout, l.Data[0].Month); err == nil {
			p.Month = last.AddDate(0, 1, 0).Format(monthLayout)
		}
	}
	p.Pager = pagerOf(periodsPath, q, l.Cursor.Value)
	return v.Show(templates, "periods", visit.PageContent{Status: status(problem), Title: v.T.Menu["periods"], Problem: problem, Page: &p})
}

// monthLayout is the layout of a month for package time.
const monthLayout = "2006-01"

// monthEnds returns, for each environment, the address of the trial balance at the end of a month. The balance counts entries
// by their effective dates.
func monthEnds(month string) map[string]string {
	day := lastDay(month)
	return map[string]string{
		"prod": address(trialPath, url.Values{"by": {"effective"}, "at": {day}}),
		"test": address(trialPath, url.Values{"by": {"effective"}, "at": {day}, "env": {"test"}}),
	}
}

// lastDay returns the last day of a month. If the text is not a month, it is returned unchanged.
func lastDay(month string) string {
	first, err := time.Parse(monthLayout, month)
	if err != nil {
		return month
	}
	return first.AddDate(0, 1, -1).Format(time.DateOnly)
}

func closingPath(month string) string { return periodsPath + "/" + url.PathEscape(month) + "/close" }

// closingPage asks for confirmation before a month is closed, and shows the month's totals.
type closingPage struct {
	Month  string
	Action string
	Days   []dayTotals // the totals at the month's end, in prod and in test
	Trial  map[string]string
}

// showClosing is GET /console/ledger/periods/{month}/close.
func showClosing(v *visit.Visit) error { return sendClosing(v, "", fiber.StatusOK) }

func sendClosing(v *visit.Visit, problem string, status int) error {
	month := v.Parameter("month")
	if _, err := time.Parse(monthLayout, month); err != nil {
		return errNoMonth
	}
	p := closingPage{Month: month, Action: closingPath(month), Trial: monthEnds(month)}
	for _, env := range []string{"prod", "test"} {
		q := url.Values{"env": {env}, "by": {"effective"}, "at": {lastDay(month)}}
		l, err := readList[totals](v, apiTotals, q)
		if err != nil {
			return err
		}
		p.Days = append(p.Days, newDayTotals(q, lastDay(month), l.Data))
	}
	title := v.T.Fill(textsIn(v.T.Lang).Periods.CloseTitle, "month", month)
	crumbs := []view.Crumb{{Title: v.T.Menu["periods"], Path: periodsPath}}
	return v.Show(templates, "closing", visit.PageContent{Status: status, Title: title, Problem: problem, Crumbs: crumbs, Page: &p})
}

// errNoMonth means that the month in the page's address is malformed.
var errNoMonth = &web.RefusedError{Status: fiber.StatusNotFound, Code: "not_found"}

// closePeriod is POST /console/ledger/periods/{month}/close.
func closePeriod(v *visit.Visit) error {
	answer := v.Do(fiber.MethodPost, apiPeriods+"/"+url.PathEscape(v.Parameter("month"))+"/close", nil)
	refused := answer.Refusal()
	switch {
	case refused == nil:
		return v.Redirect(periodsPath, true)
	case refused.Status == fiber.StatusConflict, refused.Status == fiber.StatusUnprocessableEntity, refused.Status == fiber.StatusServiceUnavailable:
		problem := refused.Message
		if len(refused.Problems) > 0 {
			problem = refused.Problems[0].Detail
		}
		return sendClosing(v, problem, refused.Status)
	}
	return refused
}
