package auditor

import (
	"encoding/base64"
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

type proofPage struct {
	Organization string
	Head         head
	Event        *event     // nil if no event was chosen
	Names        eventNames // the labels of Event
	Shown        []postingLine
	Kind         string // the letter that stands for the kind of the event's record
	Address      string // of the event's page
	Inclusion    *inclusion

	Seq       string // the event's number that the first form shows
	Older     string // the size (number of events) of an older head that the second form shows
	Extension *consistency
	Check     *checkResult      // result of the store's last check; nil if there was none, or if the page is about an event
	Codes     map[string]string // the texts for the refusals of proof.js, by code
	Kinds     map[string]string // names of the kinds of records, by letter
}

// showProof is GET /console/ledger/proof, a page that explains what is proven and how. If there is a parameter seq, the page
// contains the proof that the event with this number is in the journal. If there is a parameter from, it contains the proof
// that the journal has only grown since it had that many events. The browser checks both proofs.
func showProof(v *visit.Visit) error {
	t := textsIn(v.T.Lang)
	p := proofPage{Organization: v.Principal.Org.String(), Seq: v.Query("seq"), Older: v.Query("from"), Codes: t.Refusals, Kinds: kindNames(labels.In(v.T.Lang))}
	crumbs, title, problem := []view.Crumb(nil), v.T.Menu["proof"], ""
	err := p.read(v)
	var refused *web.RefusedError
	switch {
	case errors.Is(err, errNoEvent):
		problem = t.Proof.NoEvent
	case errors.As(err, &refused) && refused.Status == fiber.StatusUnprocessableEntity:
		problem, _ = refusedFields(err)
	case err != nil:
		return err
	case p.Event != nil:
		title = v.T.Fill(t.Proof.TitleOf, "seq", p.Seq)
		crumbs = []view.Crumb{{Title: v.T.Menu["proof"], Path: proofPath}, {Title: v.T.Fill(t.Journal.EventTitle, "seq", p.Seq), Path: p.Address}}
	}
	return v.Show(templates, "proof", visit.PageContent{Status: status(problem), Title: title, Problem: problem, Crumbs: crumbs, Page: &p})
}

func (p *proofPage) read(v *visit.Visit) (err error) {
	if p.Head, err = readData[head](v, apiHead, nil); err != nil {
		return err
	}
	size := seqText(p.Head.Size)
	if p.Older != "" && p.Older != "0" && p.Older != size {
		extension, err := readData[consistency](v, apiConsistency, url.Values{"from": {p.Older}, "to": {size}})
		if err != nil {
			return err
		}
		p.Extension = &extension
	}
	if p.Seq == "" {
		p.Check, err = readData[*checkResult](v, apiCheck, nil)
		return err
	}
	e, err := readEvent(v, p.Seq)
	if err != nil {
		return err
	}
	path, err := readData[inclusion](v, apiInclusion, url.Values{"seq": {p.Seq}, "size": {size}})
	if err != nil {
		return err
	}
	p.Event, p.Inclusion, p.Address = &e, &path, eventAddress(eventsPath, e.Seq)
	p.Kind, p.Names = kindOf(path.Leaf), eventNamesIn(labels.In(v.T.Lang), &e)
	if e.Entry != nil {
		p.Shown = postingLines(e.Entry)
	}
	return nil
}

// kindNames returns the labels of the kinds of records. The keys are the letters that stand for the kinds.
func kindNames(t *labels.Texts) map[string]string {
	names := make(map[string]string)
	for _, kind := range ledger.Kinds() {
		names[string(rune(kind))] = t.Word("kind", kind.Word())
	}
	return names
}

// kindOf returns the letter that stands for the kind of an event's record. In the API, only the event's canonical bytes contain
// this letter. If the bytes can't be parsed, the result is empty.
func kindOf(leaf string) string {
	bytes, err := base64.StdEncoding.DecodeString(leaf)
	if err != nil {
		return ""
	}
	e, err := ledger.ParseCanonical(bytes)
	if err != nil {
		return ""
	}
	return string(rune(e.Source.Kind))
}

// PostingCount returns the number of postings that the page shows. The script compares this number with the number of postings
// in the proof.
func (p *proofPage) PostingCount() string { return strconv.Itoa(len(p.Shown)) }
