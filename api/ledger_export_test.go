package api_test

import (
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api"
	"mizan/api/ledger/export"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// seqs returns the sequence numbers of the entries in a CSV export, each once.
func (r *response) seqs() (seqs []string) {
	r.t.Helper()
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	must(r.t, err)
	for _, row := range rows[1:] {
		seqs = append(seqs, row[0])
	}
	return slices.Compact(seqs)
}

// An export with a wrong parameter gets 422, with the name of the parameter.
func TestBadExportParametersAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, field := range map[string]string{
		"": "format", "format=": "format", "format=pdf": "format", "format=CSV": "format", "format=csv&format=csv": "format",
		"format=csv&env=live": "env", "format=csv&from=yesterday": "from", "format=csv&to=1": "to", "format=csv&to=2026-13-01": "to",
		"format=csv&from=1969-12-31": "from", "format=csv&to=1969-12-31T23:59:59Z": "to", "format=csv&from=2026-09-04": "from",
		"format=csv&to=2026-09-04": "to", "format=csv&to=2026-09-03T10:15:31Z": "to", "format=csv&from=2026-09-03T10:15:31Z": "from",
		"format=csv&from=2026-09-02&to=2026-09-01": "from", "format=csv&from=2026-09-02T00:00:00Z&to=2026-09-01T23:59:59.999999Z": "from",
		"format=csv&account=A:bank": "account", "format=csv&limit=5": "limit",
	} {
		r := f.auditor().get(exportPath + "?" + query)
		if r.status != 422 || r.at("errors.0.field") != field || r.at("errors.0.code") != "invalid" || r.at("errors.1") != "(absent)" {
			t.Errorf("%q: %d %s, want 422 about %s", query, r.status, r.body, field)
		}
	}
	const refusal = `{"errors":[{"code":"invalid","detail":"format must be one of hledger, beancount, csv, parquet, xlsx","field":"format"}]}`
	f.auditor().get(exportPath+"?format=pdf").want(422, refusal)
}

// The range of an export includes both its bounds. If a bound is a day, from means the first instant of the day, and to means its
// last instant.
func TestExportRangeIncludesBothBounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bookEntry := func() (seq, booked string) {
		id := f.charge(good).at("id")
		r := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, "")
		return r.at("data.0.seq"), url.QueryEscape(r.at("data.0.booked_at"))
	}
	f.advanceDays(1)
	firstSeq, firstTime := bookEntry()
	secondSeq, secondTime := bookEntry()
	f.advanceDays(1)
	thirdSeq, _ := bookEntry()
	for query, want := range map[string][]string{
		"from=2026-09-04":                        {firstSeq, secondSeq, thirdSeq},
		"from=2026-09-04&to=2026-09-04":          {firstSeq, secondSeq},
		"from=2026-09-05&to=2026-09-05":          {thirdSeq},
		"from=2026-09-05":                        {thirdSeq},
		"from=" + firstTime + "&to=" + firstTime: {firstSeq},
		"from=" + secondTime:                     {secondSeq, thirdSeq},
		"from=2026-09-04&prefix=A:provider:":     {firstSeq, secondSeq, thirdSeq},
		"from=2026-09-04&prefix=L:partner:2":     nil,
		"prefix=nobody":                          nil,
		"from=2026-09-04&env=prod":               nil,
	} {
		if !strings.Contains(query, "env=") {
			query += "&env=test"
		}
		if got := f.auditor().get(exportPath+"?format=csv&"+query).want(200, "").seqs(); !slices.Equal(got, want) {
			t.Errorf("%s: entries %v, want %v", query, got, want)
		}
	}
	allSeqs := f.auditor().get(exportPath+"?format=csv&env=test").want(200, "").seqs()
	listedSeqs := columnOfPages(t, f.auditor(), ledgerPath+"/entries?env=test", 100, "seq")
	slices.Reverse(listedSeqs)
	if !slices.Equal(allSeqs, listedSeqs) {
		t.Errorf("exported are %v, listed %v", allSeqs, listedSeqs)
	}
}

// An export has only its own organization's entries.
func TestExportHasOnlyItsOrganizationsEntries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.charge(good)
	secondOrg := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)
	export := secondOrg.get(exportPath+"?format=csv&env=test").want(200, "")
	if strings.Contains(export.body, "L:partner:1:") || !strings.Contains(export.body, "L:partner:2:available") {
		t.Errorf("the second organization exports %.500s", export.body)
	}
}

// blockedJournal is a journal whose readers wait: View returns only after release is closed.
type blockedJournal struct {
	web.Journal
	freeViews    *atomic.Int64 // how many views may still be opened without waiting
	waitingViews chan struct{} // receives once for each view that waits
	release      chan struct{} // once it is closed, the waiting views continue
}

// View implements web.Journal.
func (j blockedJournal) View() *posting.View {
	if j.freeViews.Add(-1) < 0 {
		j.waitingViews <- struct{}{}
		<-j.release
	}
	return j.Journal.View()
}

// newBlockedExportFixture starts a server with a blockedJournal. An export waits when it opens a view of the journal after
// freeViews has been used up.
func newBlockedExportFixture(t *testing.T) (*fixture, blockedJournal) {
	j := blockedJournal{freeViews: new(atomic.Int64), waitingViews: make(chan struct{}, 1024), release: make(chan struct{})}
	j.freeViews.Store(1 << 40)
	f := newFixture(t, func(cfg *api.Config) {
		j.Journal = cfg.Journal
		cfg.Journal = j
	})
	return f, j
}

// beginExport requests an export and reads only the headers of the response. The server sends the headers together with the first
// piece of the content.
func (c caller) beginExport(query string) *http.Response {
	c.fixture.t.Helper()
	request, err := http.NewRequest("GET", "http://"+c.fixture.address+exportPath+"?"+query, nil)
	must(c.fixture.t, err)
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	must(c.fixture.t, err)
	c.fixture.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// At most two exports of an organization, and at most four in total, run at once. A further request is told to
// try again later.
func TestConcurrentExportsAreBounded(t *testing.T) {
	t.Parallel()
	f, j := newBlockedExportFixture(t)
	thirdOrg := f.admin().post("/api/v1/organizations", `{"name":"Third"}`).want(201, "").at("data.id")
	f.bearer(string(f.seed.AdminToken), uuid.MustParse(thirdOrg)).post(users, `{"login":"eye","pass":"`+goodPass+`","name":"E","roles":["auditor"]}`).want(201, "")
	thirdAuditor := f.bearer(f.logIn(thirdOrg, loginBody("eye", goodPass)).want(201, "").at("data.token"), uuid.MustParse(thirdOrg))
	j.freeViews.Store(0)
	wantRefused := func(c caller, detail string) {
		t.Helper()
		refused := c.get(exportPath+"?format=csv").want(503, `{"error":"unavailable","message":"`+detail+`"}`)
		if refused.header.Get("retry-after") == "" || refused.header.Get("content-disposition") != "" {
			t.Errorf("refused with %v", refused.header)
		}
	}
	running := make(chan *response)
	callers := []caller{f.auditor(), f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)}
	for _, c := range callers {
		for range 2 {
			go func() { running <- c.get(exportPath + "?format=csv&env=test") }()
			<-j.waitingViews
		}
		wantRefused(c, "too many exports of this organization are under way")
	}
	wantRefused(thirdAuditor, "too many exports are under way")
	close(j.release)
	exportCounts := map[string]int{}
	for range 4 {
		exportCounts[(<-running).want(200, "").body]++
	}
	for body, count := range exportCounts {
		if count != 2 || body == "" {
			t.Errorf("%d exports of %d bytes are the same", count, len(body))
		}
	}
	// An export's place becomes free a moment after its last byte is written.
	deadline := time.Now().Add(time.Minute)
	for f.auditor().get(exportPath+"?format=csv").status != 200 {
		if time.Now().After(deadline) {
			t.Fatal("no place becomes free")
		}
	}
}

// A server that stops breaks off its exports: a client can tell that its export is incomplete,
// and no view (snapshot) of the journal stays open.
func TestInterruptedExportIsRecognizable(t *testing.T) {
	t.Parallel()
	f, j := newBlockedExportFixture(t)
	fillJournal(t, f, 3_000) // so many entries that the export reads and sends them in several pieces
	const samples = 16       // views that the server opens to estimate the export's length
	j.freeViews.Store(2 + samples)
	response := f.auditor().beginExport("format=csv")
	<-j.waitingViews
	serverStopped := make(chan struct{})
	go func() {
		f.stopServer()
		close(serverStopped)
	}()
	if body, err := io.ReadAll(response.Body); response.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the export ends with %v and %d bytes, as if it were whole", err, len(body))
	}
	select {
	case <-serverStopped:
		t.Error("the server has stopped while an export was still reading")
	default:
	}
	close(j.release)
	<-serverStopped
	f.stopBackend() // fails if a view is open
}

// An export ends when its client disconnects. Otherwise it would keep one of the few places until the time for
// an export is over.
func TestExportEndsWhenItsReaderDisconnects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillJournal(t, f, 30_000) // more than a connection buffers while its client reads nothing
	for range 2 {
		must(t, f.auditor().beginExport("format=csv").Body.Close())
	}
	deadline := time.Now().Add(time.Minute)
	for f.auditor().get(exportPath+"?format=csv&env=test").status != 200 {
		if time.Now().After(deadline) {
			t.Fatal("no place becomes free")
		}
	}
}

// An open view (snapshot) of the journal prevents compaction, and a client may be slow, so no view is open while content is sent.
// The test closes the journal during the export. Closing fails if a view is open.
func TestExportHoldsNoViewWhileItSends(t *testing.T) {
	t.Parallel()
	for part, read := range map[string]func(b *export.Book, afterFirst func()) error{
		"entries": func(b *export.Book, afterFirst func()) error {
			for _, err := range b.Entries {
				if err != nil {
					return err
				}
				afterFirst()
			}
			return nil
		},
		"accounts": func(b *export.Book, afterFirst func()) error {
			for _, err := range b.Accounts {
				if err != nil {
					return err
				}
				afterFirst()
			}
			return nil
		},
	} {
		f := newFixture(t)
		fillJournal(t, f, 3_000)
		b, err := f.server.ExportBook(t.Context(), f.seed.First.Org, money.Prod)
		must(t, err)
		if err := read(b, sync.OnceFunc(f.stopBackend)); err == nil {
			t.Errorf("%s: all of them were read at once, however many there are", part)
		}
	}
}

// An export reads a journal in pieces. Nothing is lost or repeated at the borders of the pieces, and the export
// has no entries that are booked meanwhile.
func TestExportIsCompleteAcrossItsReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillJournal(t, f, 3_000)
	var bookedSeqs, exportedSeqs []uint64
	var accounts, exportedAccounts []string
	view := f.Journal.View()
	err := errors.Join(view.EventsAscending(f.seed.First.Org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil && e.Entry.Postings[0].Asset.Env == money.Prod {
			bookedSeqs = append(bookedSeqs, e.Seq)
		}
		return true, nil
	}), view.Accounts(f.seed.First.Org, "", money.Prod, func(a ledger.Account) (bool, error) {
		accounts = append(accounts, string(a.Path))
		return true, nil
	}))
	view.Close() // here, before the test can fail, because a journal with an open view can't be closed
	must(t, err)
	b, err := f.server.ExportBook(t.Context(), f.seed.First.Org, money.Prod)
	must(t, err)
	bookMore := sync.OnceFunc(func() { fillJournal(t, f, 100) })
	for e, err := range b.Entries {
		must(t, err)
		if e.Entry != nil && e.Entry.Postings[0].Asset.Env == money.Prod {
			exportedSeqs = append(exportedSeqs, e.Seq)
		}
		bookMore()
	}
	for a, err := range b.Accounts {
		must(t, err)
		exportedAccounts = append(exportedAccounts, string(a.Path))
	}
	if len(bookedSeqs) < 3_000 || !slices.Equal(exportedSeqs, bookedSeqs) {
		t.Errorf("%d entries are exported, %d were there", len(exportedSeqs), len(bookedSeqs))
	}
	if !slices.IsSorted(exportedAccounts) || len(slices.Compact(exportedAccounts)) != len(slices.Compact(accounts)) {
		t.Errorf("%d accounts are declared, %d are there", len(exportedAccounts), len(accounts))
	}
}

// The response to a long export has a header with the estimated length, so that the client can show the progress. If the export
// selects only a few of many entries, there is no estimate.
func TestExportTellsAboutHowLongItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	exported := func(query string) (estimated, length float64) {
		t.Helper()
		r := f.auditor().get("/api/v1/ledger/export?env=prod&"+query).want(200, "")
		if text := r.header.Get("x-estimated-bytes"); text != "" {
			var err error
			estimated, err = strconv.ParseFloat(text, 64)
			must(t, err)
		}
		return estimated, float64(len(r.body))
	}
	if estimated, _ := exported("format=csv"); estimated != 0 {
		t.Errorf("%v bytes are estimated for a short export", estimated)
	}
	fillJournal(t, f, 2_000)
	csv := "/api/v1/ledger/export?env=prod&format=csv"
	head, sent := f.auditor().do("HEAD", csv, "").want(200, ""), f.auditor().get(csv).header.Get("x-estimated-bytes")
	if estimated := head.header.Get("x-estimated-bytes"); estimated == "" || estimated != sent || head.body != "" {
		t.Errorf("HEAD estimates %q bytes, and GET %q", estimated, sent)
	}
	for _, format := range export.Names() {
		for _, prefix := range []string{"", "A:provider"} {
			estimated, length := exported("format=" + format + "&prefix=" + prefix)
			if ratio := estimated / length; ratio < 0.65 || ratio > 1.5 {
				t.Errorf("%s, prefix %q: %.0f bytes are estimated, and %.0f sent", format, prefix, estimated, length)
			}
		}
		if estimated, _ := exported("format=" + format + "&prefix=L:partner:77:"); estimated != 0 {
			t.Errorf("%s: %v bytes are estimated for a few entries", format, estimated)
		}
	}
}
