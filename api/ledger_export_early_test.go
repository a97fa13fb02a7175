package api_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/api"
	"mizan/api/web"
	"mizan/posting"
)

// wantExportRefused checks that the response has this status and body, and none of the headers of an export.
func (r *response) wantExportRefused(status int, body string) {
	r.t.Helper()
	r.want(status, body)
	if r.header.Get("content-disposition") != "" || r.header.Get("content-type") != "application/json" {
		r.t.Errorf("an export that was not begun has the headers %v", r.header)
	}
}

// unreadableJournal is a journal that panics when a reader opens a view of it.
type unreadableJournal struct{ web.Journal }

// View implements web.Journal.
func (unreadableJournal) View() *posting.View { panic("no view") }

// If an export fails before the first piece of its content, the response is an error status.
func TestEarlyExportFailureIsAnErrorStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Journal = unreadableJournal{cfg.Journal} })
	f.auditor().get(exportPath+"?format=csv").wantExportRefused(500, `{"error":"internal","message":"something went wrong on our side"}`)
}

// A request for an export that has not begun when the server stops gets an error status too.
func TestStoppingServerRefusesNewExports(t *testing.T) {
	t.Parallel()
	f, j := newBlockedExportFixture(t)
	j.freeViews.Store(0)
	responses := make(chan *response)
	go func() { responses <- f.auditor().get(exportPath + "?format=csv") }()
	<-j.waitingViews
	serverStopped := make(chan struct{})
	go func() {
		f.stopServer()
		close(serverStopped)
	}()
	(<-responses).wantExportRefused(503, `{"error":"unavailable","message":"the service is stopping"}`)
	close(j.release)
	<-serverStopped
}

// An export is sent in chunks, which HTTP/1.0 does not have. A client of HTTP/1.0 would take the sizes of the chunks for content,
// and a broken connection for the end of the export.
func TestStreamNeedsHTTP11(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	requestHead := func(c caller, line string) string {
		request := line + " HTTP/1.0\r\nHost: a\r\nContent-Type: application/json\r\n"
		for name, value := range c.headers {
			request += name + ": " + value + "\r\n"
		}
		return request
	}
	for name, request := range map[string]string{
		"an export": requestHead(f.auditor(), "GET "+exportPath+"?format=csv") + "\r\n",
		"a backup":  requestHead(f.admin(), "POST /api/v1/backups") + "Content-Length: 2\r\n\r\n{}",
	} {
		responses, _ := f.raw(request, 1)
		if len(responses) != 1 {
			t.Fatalf("%s: %d responses", name, len(responses))
		}
		responses[0].wantExportRefused(505, `{"error":"http_version_not_supported","message":"this answer needs HTTP/1.1"}`)
	}
}

// No two events have the same booked time, so booked times run ahead of a clock that stands still. A range may
// still end at a booked time that a response has shown.
func TestExportMayEndAtABookedTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.advanceDays(1)
	var seqs, times []string
	for range 2 {
		entry := f.auditor().get(ledgerPath+"/entries?env=test&source="+f.charge(good).at("id")).want(200, "")
		seqs, times = append(seqs, entry.at("data.0.seq")), append(times, entry.at("data.0.booked_at"))
	}
	last := f.auditor().get(ledgerPath+"/events?limit=1").want(200, "").at("data.0.booked_at")
	newest, err := time.Parse(time.RFC3339Nano, last)
	must(t, err)
	if first, err := time.Parse(time.RFC3339Nano, times[0]); err != nil || !first.After(f.Clock.Now()) {
		t.Fatalf("the first is booked at %v, by a clock of %v", times[0], f.Clock.Now())
	}
	for query, want := range map[string][]string{
		"from=" + times[0]:                      seqs,
		"from=" + times[1]:                      seqs[1:],
		"from=" + times[0] + "&to=" + times[0]:  seqs[:1],
		"from=2026-09-04&to=" + times[1]:        seqs,
		"from=2026-09-04&to=" + last:            seqs,
		"from=" + times[0] + "&to=2026-09-04":   seqs,
		"from=" + times[1] + "&to=" + last + "": seqs[1:],
	} {
		query = strings.ReplaceAll(query, "+", "%2B")
		if got := f.auditor().get(exportPath+"?format=csv&env=test&"+query).want(200, "").seqs(); !slices.Equal(got, want) {
			t.Errorf("%s: entries %v, want %v", query, got, want)
		}
	}
	later := newest.Add(time.Microsecond).Format(time.RFC3339Nano)
	for _, name := range []string{"from", "to"} {
		f.auditor().get(exportPath+"?format=csv&"+name+"="+url.QueryEscape(later)).want(422, fmt.Sprintf(`{"errors":[{"code":"invalid","detail":"%s must not be after now","field":"%[1]s"}]}`, name))
	}
}

var headingPattern = regexp.MustCompile(`\n; Booked from the beginning to (\S+); the last event by then is (\d+)\n`)

// If a request for an export names no end, the heading of the export names the moment at which the export ends. A later export up
// to that moment has the same content, even if entries were booked since.
func TestOpenExportNamesItsEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.charge(good)
	newest := f.auditor().get(ledgerPath+"/events?limit=1").want(200, "")
	for _, format := range []string{"hledger", "beancount"} {
		for _, to := range []string{"", "&to=2026-09-03", "&to=" + url.QueryEscape(f.Clock.Now().Format(time.RFC3339Nano))} {
			export := f.auditor().get(exportPath+"?env=test&format="+format+to).want(200, "").body
			heading := headingPattern.FindStringSubmatch(export)
			if heading == nil {
				t.Fatalf("%s%s begins %.300s", format, to, export)
			}
			end, err := time.Parse(time.RFC3339Nano, heading[1])
			must(t, err)
			if booked, err := time.Parse(time.RFC3339Nano, newest.at("data.0.booked_at")); err != nil || !booked.Equal(end) || heading[2] != newest.at("data.0.seq") {
				t.Errorf("%s%s ends at %v with event %s, the last one is %s", format, to, end, heading[2], newest.body)
			}
			f.charge(good)
			f.auditor().get(exportPath+"?env=test&format="+format+"&to="+url.QueryEscape(heading[1])).want(200, export)
			newest = f.auditor().get(ledgerPath+"/events?limit=1").want(200, "")
		}
	}
}
