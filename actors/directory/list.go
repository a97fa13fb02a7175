package directory

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// Bounds of a page, in rows.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// Page selects a page of a list. Lists are newest first by the time of creation.
type Page struct {
	Limit   int    // 1 to MaxPage; 0: DefaultPage
	After   Cursor // the last row of the previous page; zero: start from the newest
	Partner int64  // only records of this partner; 0: all
}

// Cursor identifies a row of a list.
type Cursor struct {
	At ledger.Micros
	ID ledger.ID
}

// IsZero tells whether there is no further page.
func (c Cursor) IsZero() bool { return c == Cursor{} }

const cursorTime = "2006-01-02T15:04:05.000000-07:00"

// String returns the row's time of creation, ISO 8601 with microseconds, a slash and the row's id.
// The id is needed because organizations can be created in the same microsecond.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return c.At.Time().Format(cursorTime) + "/" + c.ID.String()
}

// ParseCursor reads what String wrote; the id may be missing. The error is a *ledger.Refusal of the
// field "cursor".
func ParseCursor(text string) (Cursor, error) {
	bad := ledger.RefuseField("directory.ParseCursor", "cursor", "is not a cursor of this list")
	instant, id, named := strings.Cut(text, "/")
	at, err := time.Parse(time.RFC3339Nano, instant)
	if err != nil {
		return Cursor{}, bad
	}
	c := Cursor{At: ledger.MicrosOf(at)}
	if named {
		if len(id) != 36 {
			return Cursor{}, bad
		}
		if c.ID, err = uuid.Parse(id); err != nil {
			return Cursor{}, bad
		}
	}
	return c, nil
}

// ListOrganizations returns a page of all organizations and the cursor of the next page; a zero
// cursor means that this is the last page. Errors are *ledger.Refusal.
func (s *Service) ListOrganizations(p Page) ([]*directory.Organization, Cursor, error) {
	return page(&s.organizations, p, func(c *recordSlot[directory.Organization]) (*directory.Organization, bool) { return c.record(), true })
}

// ListPartners returns a page of an organization's partners.
func (s *Service) ListPartners(id ledger.ID, p Page) ([]*directory.Partner, Cursor, error) {
	return partners.list(s, id, p)
}

// ListTerminals returns a page of an organization's terminals.
func (s *Service) ListTerminals(id ledger.ID, p Page) ([]*directory.Terminal, Cursor, error) {
	return terminals.list(s, id, p)
}

// ListAPIKeys returns a page of an organization's keys, revoked ones included. A key's last use may be up to an hour too
// early after a kill.
func (s *Service) ListAPIKeys(id ledger.ID, p Page) ([]*directory.APIKey, Cursor, error) {
	o, ok := s.org(id)
	if !ok {
		return nil, Cursor{}, notFound("directory.ListAPIKeys", "organization")
	}
	return page(&o.keys, p, func(c *recordSlot[directory.APIKey]) (*directory.APIKey, bool) {
		r := c.record()
		return listed(r, c), p.Partner == 0 || r.Partner == p.Partner
	})
}

// listed returns a key with its latest use.
func listed(k *directory.APIKey, place *recordSlot[directory.APIKey]) *directory.APIKey {
	latest := *k
	latest.Used = max(k.Used, ledger.Micros(place.used.Load()))
	return &latest
}

// ListRates returns a page of an organization's rates.
func (s *Service) ListRates(id ledger.ID, p Page) ([]*directory.Rate, Cursor, error) {
	return rates.list(s, id, p)
}

// page walks an index backwards from the cursor. It looks one row beyond the page to find out
// whether the page is the last.
func page[T, R any](x *index[T], p Page, row func(*recordSlot[T]) (R, bool)) (rows []R, next Cursor, err error) {
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField("directory.List", "limit", "must be from 1 to %d", MaxPage)
	}
	order := x.slots()
	end := len(order)
	if !p.After.IsZero() {
		end, _ = slices.BinarySearchFunc(order, slot{p.After.At, p.After.ID}, compareSlots)
	}
	var last slot
	for i := end - 1; i >= 0; i-- {
		c, _ := x.get(order[i].id)
		r, listed := row(c)
		if !listed {
			continue
		}
		if len(rows) == p.Limit {
			return rows, Cursor{At: last.at, ID: last.id}, nil
		}
		rows, last = append(rows, r), order[i]
	}
	return rows, Cursor{}, nil
}
