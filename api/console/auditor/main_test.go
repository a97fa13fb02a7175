package auditor_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const ledgerPath = "/console/ledger/"

// fixture is a server with payments on two days.
type fixture struct {
	*testkit.Server
	t      *testing.T
	second string // the second day
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Server: testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}), t: t}
	for i := range 3 {
		testkit.Pay(t, f.Partner(), fmt.Sprint("first-", i))
	}
	f.advance("24h")
	testkit.Pay(t, f.Partner(), "second")
	f.second = f.now()[:len("2006-01-02")]
	return f
}

// advance moves the clock by a number of hours.
func (f *fixture) advance(hours string) {
	f.t.Helper()
	var n int
	if _, err := fmt.Sscanf(hours, "%dh", &n); err != nil {
		f.t.Fatal(err)
	}
	answer, err := f.Admin().Put("/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, n*3600))
	testkit.WantStatus(f.t, answer, err, http.StatusOK)
}

// now returns the server's time.
func (f *fixture) now() string {
	f.t.Helper()
	answer, err := f.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(f.t, answer, err, http.StatusOK)
	var clock struct{ Now string }
	if err := answer.JSON(&clock); err != nil {
		f.t.Fatal(err)
	}
	return clock.Now
}

// apiRows reads all rows of a list of the API as the auditor.
func apiRows[T any](f *fixture, path string) (rows []T) {
	f.t.Helper()
	for cursor := ""; ; {
		answer, err := f.Auditor().Get("/api/v1/ledger/" + path + cursor)
		testkit.WantStatus(f.t, answer, err, http.StatusOK)
		var page struct {
			Data   []T
			Cursor struct {
				Value string `json:"cursor_value"`
			}
		}
		if err := answer.JSON(&page); err != nil {
			f.t.Fatal(err)
		}
		rows = append(rows, page.Data...)
		if page.Cursor.Value == "" {
			return rows
		}
		cursor = "&cursor=" + url.QueryEscape(page.Cursor.Value)
	}
}

// link returns the first link of a page that contains the text.
func (f *fixture) link(p *consoletest.Page, part string) string {
	f.t.Helper()
	for _, address := range p.Links() {
		if strings.Contains(address, part) {
			return address
		}
	}
	f.t.Fatalf("%s has no link with %q: %v", p.Path, part, p.Links())
	return ""
}

// nextPage returns the address of the page after this one; empty on the last page.
func nextPage(p *consoletest.Page) string {
	for _, address := range p.Links() {
		if strings.Contains(address, "cursor=") {
			return address
		}
	}
	return ""
}
