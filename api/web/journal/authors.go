package journal

import (
	"strconv"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/posting"
)

// Directory finds the records of authors, in whatever state they are; *directory.Service of actors implements it.
type Directory interface {
	APIKey(org, id ledger.ID) (*directory.APIKey, bool)
	User(org, id ledger.ID) (*directory.User, bool)
	PartnerByID(org, id ledger.ID) (*directory.Partner, bool)
}

// Authors finds the authors of events with their names. It caches the authors that it has found, because few authors cause many
// events.
type Authors struct {
	view      *posting.View
	org       ledger.ID
	directory Directory
	partner   *directory.Partner // the partner that makes the request; nil: the caller may see the organization's whole journal
	found     map[ledger.Author]*jsonform.Author
}

// maxAuthors bounds the authors that an Authors caches.
const maxAuthors = 10_000

// NewAuthors returns the Authors of an organization's journal, for a request of the partner. A partner learns the id and name
// only of its own authors; of all others (other partners' and the organization's staff) it learns only the kind. If partner is
// nil, the caller learns the ids and names of all authors.
func NewAuthors(view *posting.View, org ledger.ID, records Directory, partner *directory.Partner) *Authors {
	return &Authors{view: view, org: org, directory: records, partner: partner, found: make(map[ledger.Author]*jsonform.Author)}
}

// AuthorsFor returns the Authors of the caller's organization, as the caller sees them.
func AuthorsFor(view *posting.View, caller *auth.Principal, records Directory) *Authors {
	return NewAuthors(view, caller.Org, records, caller.Partner)
}

// Of returns an author with the id and the present name of its record. The error comes from the store.
func (s *Authors) Of(author ledger.Author) (*jsonform.Author, error) {
	if shown, known := s.found[author]; known {
		return shown, nil
	}
	shown := &jsonform.Author{Kind: author.Kind}
	if author.Kind.HasRecord() {
		creation, _, found, err := s.view.Event(s.org, author.Seq)
		if err != nil {
			return nil, err
		}
		if found {
			s.describe(shown, creation.Source)
		}
	}
	if len(s.found) >= maxAuthors {
		clear(s.found)
	}
	s.found[author] = shown
	return shown, nil
}

// describe adds the id and the present name of the author's record to shown, if the caller may see them.
func (s *Authors) describe(shown *jsonform.Author, record ledger.Source) {
	var owner int64 // number of the partner to which the record belongs; 0: none
	id, name := record.ID.String(), ""
	switch record.Kind {
	case ledger.APIKey:
		if k, found := s.directory.APIKey(s.org, record.ID); found {
			owner, name = k.Partner, k.Name
		}
	case ledger.User:
		if u, found := s.directory.User(s.org, record.ID); found {
			owner, name = u.Partner, u.Login
		}
	case ledger.Partner:
		if p, found := s.directory.PartnerByID(s.org, record.ID); found {
			owner, id, name = p.Number, strconv.FormatInt(p.Number, 10), p.Login
		}
	}
	if s.partner == nil || s.partner.Number == owner {
		shown.ID, shown.Name = id, name
	}
}
