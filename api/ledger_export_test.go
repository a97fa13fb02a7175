package api_test

import (
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
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

// seqs returns the seqs in a CSV export, each once.
func (r *response) seqs() (seqs []string) {
	r.t.Helper()
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	must(r.t, err)
	for _, row := range rows[1:] {
		seqs = append(seqs, row[0])
	}
	return slices.Compact(seqs)
}

// Wrong parameters of an export are 422 with their names.
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
	const formats = `{"errors":[{"code":"invalid","detail":"format must be one of hledger, beancount, csv, parquet, xlsx","field":"format"}]}`
	f.auditor().get(exportPath+"?format=pdf").want(422, formats)
}

// A range includes both its bounds; a day stands for its first or its last instant.
func TestExportRangeIncludesBothBounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	entry := func() (seq, booked string) {
		id := f.charge(good).at("id")
		r := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, "")
		return r.at("data.0.seq"), url.QueryEscape(r.at("data.0.booked_at"))
	}
	f.advanceDays(1)
	ledgerEntry, at := entry()
	two, next := entry()
	f.advanceDays(1)
	three, _ := entry()
	for query, want := range map[string][]string{
		"from=2026-09-04":                    {ledgerEntry, two, three},
		"from=2026-09-04&to=2026-09-04":      {ledgerEntry, two},
		"from=2026-09-05&to=2026-09-05":      {three},
		"from=2026-09-05":                    {three},
		"from=" + at + "&to=" + at:           {ledgerEntry},
		"from=" + next:                       {two, three},
		"from=2026-09-04&prefix=A:provider:": {ledgerEntry, two, three},
		"from=2026-09-04&prefix=L:partner:2": nil,
		"prefix=nobody":                      nil,
		"from=2026-09-04&env=prod":           nil,
	} {
		if !strings.Contains(query, "env=") {
			query += "&env=test"
		}
		if got := f.auditor().get(exportPath+"?format=csv&"+query).want(200, "").seqs(); !slices.Equal(got, want) {
			t.Errorf("%s: entries %v, want %v", query, got, want)
		}
	}
	allSeqs := f.auditor().get(exportPath+"?format=csv&env=test").want(200, "").seqs()
	listed := columnOfPages(t, f.auditor(), ledgerPath+"/entries?env=test", 100, "seq")
	slices.Reverse(listed)
	if !slices.Equal(allSeqs, listed) {
		t.Errorf("exported are %v, listed %v", allSeqs, listed)
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

// blockedJournal is a journal whose views wait until it is opened.
type blockedJournal struct {
	web.Journal
	freeViews    *atomic.Int64 // how many views may still be taken without waiting
	waitingViews chan struct{} // receives once for each view that waits
	open         chan struct{} // closed: the views that wait continue
}

// View implements web.Journal.
func (j blockedJournal) View() *posting.View {
	if j.freeViews.Add(-1) < 0 {
		j.waitingViews <- struct{}{}
		<-j.open
	}
	return j.Journal.View()
}

// newBlockedExportFixture starts a server whose exports wait once no views are free.
func newBlockedExportFixture(t *testing.T) (*fixture, blockedJournal) {
	j := blockedJournal{freeViews: new(atomic.Int64), waitingViews: make(chan struct{}, 1024), open: make(chan struct{})}
	j.freeViews.Store(1 << 40)
	f := newFixture(t, func(cfg *api.Config) {
		j.Journal = cfg.Journal
		cfg.Journal = j
	})
	return f, j
}

// begin requests an export and reads only its headers, which come with the first piece.
func (c caller) begin(query string) *http.Response {
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

// Two exports of an organization, and four in total, run at once; a further one is asked to try
// again later.
func TestConcurrentExportsAreBounded(t *testing.T) {
	t.Parallel()
	f, j := newBlockedExportFixture(t)
	third := f.admin().post("/api/v1/organizations", `{"name":"Third"}`).want(201, "").at("data.id")
	f.bearer(string(f.seed.AdminToken), uuid.MustParse(third)).post(users, `{"login":"eye","pass":"`+goodPass+`","name":"E","roles":["auditor"]}`).want(201, "")
	foreignAuditor := f.bearer(f.logIn(third, loginBody("eye", goodPass)).want(201, "").at("data.token"), uuid.MustParse(third))
	j.freeViews.Store(0)
	refuses := func(c caller, detail string) {
		t.Helper()
		refused := c.get(exportPath+"?format=csv").want(503, `{"error":"unavailable","message":"`+detail+`"}`)
		if refused.header.Get("retry-after") == "" || refused.header.Get("content-disposition") != "" {
			t.Errorf("refused with %v", refused.header)
		}
	}
	running := make(chan *response)
	both := []caller{f.auditor(), f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)}
	for _, c := range both {
		for range 2 {
			go func() { running <- c.get(exportPath + "?format=csv&env=test") }()
			<-j.waitingViews
		}
		refuses(c, "too many exports of this organization are under way")
	}
	refuses(foreignAuditor, "too many exports are under way")
	close(j.open)
	seen := map[string]int{}
	for range 4 {
		seen[(<-running).want(200, "").body]++
	}
	for body, times := range seen {
		if times != 2 || body == "" {
			t.Errorf("%d exports of %d bytes are the same", times, len(body))
		}
	}
	// A place becomes free a moment after the last byte is written.
	deadline := time.Now().Add(time.Minute)
	for f.auditor().get(exportPath+"?format=csv").status != 200 {
		if time.Now().After(deadline) {
			t.Fatal("no place becomes free")
		}
	}
}

// A server that stops breaks exports off: the reader can tell that the export is incomplete,
// and no view of the journal stays open.
func TestInterruptedExportIsRecognizable(t *testing.T) {
	t.Parallel()
	f, j := newBlockedExportFixture(t)
	fillJournal(t, f, 3_000) // more than one read and more than the first piece
	j.freeViews.Store(2)
	response := f.auditor().begin("format=csv")
	<-j.waitingViews
	halted := make(chan struct{})
	go func() {
		f.stopServer()
		close(halted)
	}()
	if body, err := io.ReadAll(response.Body); response.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the export ends with %v and %d bytes, as if it were whole", err, len(body))
	}
	select {
	case <-halted:
		t.Error("the server has stopped while an export was still reading")
	default:
	}
	close(j.open)
	<-halted
	f.stopBackend() // fails if a view is open
}

// A reader that disconnects ends its export, which would otherwise keep its place until its
// time is over.
func TestExportEndsWhenItsReaderDisconnects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillJournal(t, f, 30_000) // more than a connection buffers without a reader
	for range 2 {
		must(t, f.auditor().begin("format=csv").Body.Close())
	}
	deadline := time.Now().Add(time.Minute)
	for f.auditor().get(exportPath+"?format=csv&env=test").status != 200 {
		if time.Now().After(deadline) {
			t.Fatal("no place becomes free")
		}
	}
}

// Open views prevent compaction, and a reader may be slow, so no view is open while pieces are
// sent. A journal with an open view does not close.
func TestExportHoldsNoViewWhileItSends(t *testing.T) {
	t.Parallel()
	for part, read := range map[string]func(b *export.Book, first func()) error{
		"entries": func(b *export.Book, first func()) error {
			for _, err := range b.Entries {
				if err != nil {
					return err
				}
				first()
			}
			return nil
		},
		"accounts": func(b *export.Book, first func()) error {
			for _, err := range b.Accounts {
				if err != nil {
					return err
				}
				first()
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

// An export reads a journal in pieces: nothing is lost or repeated at their borders, and
// entries booked meanwhile are not in it.
func TestExportIsCompleteAcrossItsReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillJournal(t, f, 3_000)
	var entries, exported []uint64
	var accounts, declared []string
	view := f.Journal.View()
	err := errors.Join(view.EventsAscending(f.seed.First.Org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil && e.Entry.Postings[0].Asset.Env == money.Prod {
			entries = append(entries, e.Seq)
		}
		return true, nil
	}), view.Accounts(f.seed.First.Org, "", money.Prod, func(a ledger.Account) (bool, error) {
		accounts = append(accounts, string(a.Path))
		return true, nil
	}))
	view.Close() // before the test can fail, because a journal with an open view does not close
	must(t, err)
	b, err := f.server.ExportBook(t.Context(), f.seed.First.Org, money.Prod)
	must(t, err)
	more := sync.OnceFunc(func() { fillJournal(t, f, 100) })
	for e, err := range b.Entries {
		must(t, err)
		if e.Entry != nil && e.Entry.Postings[0].Asset.Env == money.Prod {
			exported = append(exported, e.Seq)
		}
		more()
	}
	for a, err := range b.Accounts {
		must(t, err)
		declared = append(declared, string(a.Path))
	}
	if len(entries) < 3_000 || !slices.Equal(exported, entries) {
		t.Errorf("%d entries are exported, %d were there", len(exported), len(entries))
	}
	if !slices.IsSorted(declared) || len(slices.Compact(declared)) != len(slices.Compact(accounts)) {
		t.Errorf("%d accounts are declared, %d are there", len(declared), len(accounts))
	}
}
