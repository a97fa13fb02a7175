package auditor

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/labels"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
)

// journalPage is a list of entries or events.
type journalPage[T any] struct {
	Filters filters
	Authors []authorChoice // for events
	Events  []named        // for entries: the events by which they can be filtered
	Rows    []T
	Pager   pager
}

// entryLine is a row of the list of entries.
type entryLine struct {
	entryRow
	Event   named
	Address string
	Shown   []postingLine // the first postings
	More    int           // number of postings that are not shown
}

// Span returns the number of table rows that the entry takes in the list.
func (l *entryLine) Span() int { return len(l.Shown) + min(1, l.More) }

// maxListed is the number of postings of an entry that a list shows.
const maxListed = 6

// postingLine is a posting with one column for a debit and one for a credit. One of the two columns is empty.
type postingLine struct {
	posting
	Address       string // of the account's statement
	Debit, Credit string
	At            int // index of the posting in the entry
}

func postingLines(e *entry) []postingLine {
	lines := make([]postingLine, len(e.Postings))
	for i, p := range e.Postings {
		lines[i] = postingLine{posting: p, At: i, Address: statementAddress(p.Account, &p.Asset, url.Values{"env": {p.Asset.Env}})}
		if p.Side == ledger.Debit.String() {
			lines[i].Debit = p.Amount
		} else {
			lines[i].Credit = p.Amount
		}
	}
	return lines
}

// showEntries is GET /console/ledger/entries: the events that moved or held money, newest first.
func showEntries(v *visit.Visit) error {
	q := query(v, "env", "source", "account", "event", "from", "to", "limit", "cursor")
	p := journalPage[entryLine]{Filters: filtersOf(entriesPath, q)}
	l, err := readList[entryRow](v, apiEntries, linesQuery(q))
	problem, err := refusedFields(err)
	if err != nil {
		return err
	}
	t := labels.In(v.T.Lang)
	for i := range l.Data {
		r := &l.Data[i]
		lines := postingLines(&r.entry)
		shown := min(len(lines), maxListed)
		p.Rows = append(p.Rows, entryLine{*r, eventNamed(t, r.Kind, r.Name), eventAddress(entriesPath, r.Seq), lines[:shown], len(lines) - shown})
	}
	p.Events, p.Pager = entryEvents(t), pagerOf(entriesPath, q, l.Cursor.Value)
	return v.Show(templates, "entries", visit.PageContent{Status: status(problem), Title: v.T.Menu["entries"], Problem: problem, Page: &p})
}

func eventAddress(path string, seq int64) string { return path + "/" + seqText(seq) }

// eventLine is a row of the list of events.
type eventLine struct {
	event
	eventNames
	Address string
	Who     authorView
}

// eventNames are the names of an event and of the states before and after it, with their labels.
type eventNames struct {
	Event, Before, After named
	Record               string // the label of the record's kind
}

func eventNamesIn(t *labels.Texts, e *event) eventNames {
	return eventNames{eventNamed(t, e.Kind, e.Name), stateNamed(t, e.Kind, e.From), stateNamed(t, e.Kind, e.To), t.Word("kind", e.Kind)}
}

// authorView names the author of an event: who asked for it.
type authorView struct {
	Kind string // in the language of the page
	Name string // name of the author's record; empty if it has none
	ID   string // id of the author's record; set only if there is no name
}

func authorIn(lang string, a *author) authorView {
	who := authorView{Kind: authorKind(lang, a.Kind), Name: a.Name}
	if a.Name == "" {
		who.ID = a.ID
	}
	return who
}

func authorKind(lang, kind string) string { return labels.In(lang).Word("author", kind) }

// authorChoice is a kind of author by which events can be filtered.
type authorChoice struct {
	Value, Text string
	IsChosen    bool
}

func authorChoices(lang, chosen string) (list []authorChoice) {
	for _, kind := range ledger.AuthorKinds() {
		list = append(list, authorChoice{kind.String(), authorKind(lang, kind.String()), kind.String() == chosen})
	}
	return list
}

func eventLines(lang string, events []event) []eventLine {
	lines, t := make([]eventLine, len(events)), labels.In(lang)
	for i, e := range events {
		lines[i] = eventLine{e, eventNamesIn(t, &e), eventAddress(eventsPath, e.Seq), authorIn(lang, &e.Author)}
	}
	return lines
}

// showEvents is GET /console/ledger/events: every transition of every record, newest first.
func showEvents(v *visit.Visit) error {
	q := query(v, "source", "author", "limit", "cursor")
	p := journalPage[eventLine]{Filters: filtersOf(eventsPath, q)}
	l, err := readList[event](v, apiEvents, q)
	problem, err := refusedFields(err)
	if err != nil {
		return err
	}
	p.Authors = authorChoices(v.T.Lang, q.Get("author"))
	p.Rows, p.Pager = eventLines(v.T.Lang, l.Data), pagerOf(eventsPath, q, l.Cursor.Value)
	return v.Show(templates, "events", visit.PageContent{Status: status(problem), Title: v.T.Menu["events"], Problem: problem, Page: &p})
}

// historyRows is the number of events of the same record that the page of an event shows.
const historyRows = 20

type eventPage struct {
	event
	eventNames
	Who      authorView
	Shown    []postingLine
	History  []eventLine // the latest events of the same record up to this event, newest first
	All      string      // address of the list of all events of the record
	Proof    string      // address of the event's proof
	Reverses string      // address of the entry that this entry reverses; empty if none
	Closes   string      // address of the hold that this entry ends; empty if none
}

// showEntry is GET /console/ledger/entries/{seq}: the page of an event that moved or held money.
func showEntry(v *visit.Visit) error { return showOneEvent(v, true) }

// showEvent is GET /console/ledger/events/{seq}: the page of an event.
func showEvent(v *visit.Visit) error { return showOneEvent(v, false) }

func showOneEvent(v *visit.Visit, needsEntry bool) error {
	e, err := readEvent(v, v.Parameter("seq"))
	if err != nil {
		return err
	}
	if needsEntry && e.Entry == nil {
		return errNoEvent
	}
	seq := seqText(e.Seq)
	p := eventPage{
		event: e, eventNames: eventNamesIn(labels.In(v.T.Lang), &e), Who: authorIn(v.T.Lang, &e.Author), Proof: address(proofPath, url.Values{"seq": {seq}}),
		All: address(eventsPath, url.Values{"source": {e.Source}}),
	}
	if e.Entry != nil {
		p.Shown = postingLines(e.Entry)
		if e.Entry.Reverses != 0 {
			p.Reverses = eventAddress(entriesPath, e.Entry.Reverses)
		}
		if e.Entry.Closes != 0 {
			p.Closes = eventAddress(entriesPath, e.Entry.Closes)
		}
	}
	history, err := readList[event](v, apiEvents, url.Values{"source": {e.Source}, "limit": {strconv.Itoa(historyRows)}, "cursor": {seqText(e.Seq + 1)}})
	if err != nil {
		return err
	}
	p.History = eventLines(v.T.Lang, history.Data)
	list := view.Crumb{Title: v.T.Menu["events"], Path: eventsPath}
	title := textsIn(v.T.Lang).Journal.EventTitle
	if needsEntry {
		list, title = view.Crumb{Title: v.T.Menu["entries"], Path: entriesPath}, textsIn(v.T.Lang).Journal.EntryTitle
	}
	return v.Show(templates, "event", visit.PageContent{Title: v.T.Fill(title, "seq", seq), Page: &p, Crumbs: []view.Crumb{list}})
}

// errNoEvent means that no event has the given number.
var errNoEvent = ledger.Refuse("auditor.readEvent", ledger.NotFound, "there is no such event")

// readEvent reads the event whose number is in text.
func readEvent(v *visit.Visit, text string) (event, error) {
	seq, err := strconv.ParseInt(text, 10, 62)
	if err != nil || seq < 1 || seqText(seq) != text {
		return event{}, errNoEvent
	}
	var answer struct{ Data event }
	err = v.Get(apiEvents+"/"+text, nil, &answer)
	var refused *web.RefusedError
	if errors.As(err, &refused) && refused.Status == fiber.StatusNotFound {
		return event{}, errNoEvent
	}
	return answer.Data, err
}
