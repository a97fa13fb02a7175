package journal

import (
	"strconv"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/posting"
)

// Directory finds the records of authors, whatever the state of a record is. *directory.Service of actors implements this
// interface.
type Directory interface {
	APIKey(org, id ledger.ID) (*directory.APIKey, bool)
	User(org, id ledger.ID) (*directory.User, bool)
	PartnerByID(org, id ledger.ID) (*directory.Partner, bool)
}

// Authors looks up the authors of events and their names. It caches the results, because few authors cause many events.
type Authors struct {
	view      *posting.View
	org       ledger.ID
	directory Directory
	partner   *directory.Partner // the partner that makes the request; nil if the caller may see the whole journal
	found     map[ledger.Author]*jsonform.Author
}

// maxAuthors bounds the number of authors in one cache.
const maxAuthors = 10_000

// NewAuthors returns the Authors for a request about an organization's journal. If a partner makes the request, it learns the
// ids and names of its own authors only. Of all other authors (those of other partners, and the organization's staff) it learns
// only the kind. If partner is nil, the caller learns the ids and names of all authors.
func NewAuthors(view *posting.View, org ledger.ID, records Directory, partner *directory.Partner) *Authors {
	return &Authors{view: view, org: org, directory: records, partner: partner, found: make(map[ledger.Author]*jsonform.Author)}
}

// AuthorsFor returns the Authors for the caller's request about the journal of the caller's organization.
func AuthorsFor(view *posting.View, caller *auth.Principal, records Directory) *Authors {
	return NewAuthors(view, caller.Org, records, caller.Partner)
}

// Of returns the author's kind and, if the caller may see them, the id and the present name of the author's record. An error
// comes from the store.
func (a *Authors) Of(author ledger.Author) (*jsonform.Author, error) {
	if shown, known := a.found[author]; known {
		return shown, nil
	}
	shown := &jsonform.Author{Kind: author.Kind}
	if author.Kind.HasRecord() {
		creation, _, found, err := a.view.Event(a.org, author.Seq)
		if err != nil {
			return nil, err
		}
		if found {
			a.describe(shown, creation.Source)
		}
	}
	if len(a.found) >= maxAuthors {
		clear(a.found)
	}
	a.found[author] = shown
	return shown, nil
}

// describe copies the id and the present name of the author's record into shown, if the caller may see them.
func (a *Authors) describe(shown *jsonform.Author, record ledger.Source) {
	var owner int64 // number of the partner to which the record belongs; 0 if it belongs to none
	id, name := record.ID.String(), ""
	switch record.Kind {
	case ledger.APIKey:
		if k, found := a.directory.APIKey(a.org, record.ID); found {
			owner, name = k.Partner, k.Name
		}
	case ledger.User:
		if u, found := a.directory.User(a.org, record.ID); found {
			owner, name = u.Partner, u.Login
		}
	case ledger.Partner:
		if p, found := a.directory.PartnerByID(a.org, record.ID); found {
			owner, id, name = p.Number, strconv.FormatInt(p.Number, 10), p.Login
		}
	}
	if a.partner == nil || a.partner.Number == owner {
		shown.ID, shown.Name = id, name
	}
}
