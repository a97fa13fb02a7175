package directory

import (
	"context"
	"errors"
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

var (
	errMalformed = errors.New("malformed")
	errMissing   = errors.New("a list names a record that does not exist")
	errNoReply   = errors.New("the stored reply does not exist")
	errNoEvent   = errors.New("there is no event before the stored reply")
)

// recordKind describes a type of records, and says in which index of the view (the records in memory) they are.
type recordKind[R any] struct {
	columns *schema.Type[R]
	source  ledger.Kind
	index   func(*organization) *index[R]
	put     func(*organization, *R, posting.RecordHeader) // publishes a durable record

	partnerOf           func(*R) int64 // number of a record's partner; nil if lists cannot be restricted to a partner
	derive              func(*R) error // sets the fields that are computed from the stored columns; may be nil
	changeableInArchive bool           // records can be changed even in an archived organization
}

var (
	partners = recordKind[directory.Partner]{
		columns: directory.Partners, source: ledger.Partner, index: func(o *organization) *index[directory.Partner] { return &o.partners },
		put: (*organization).putPartner, partnerOf: func(p *directory.Partner) int64 { return p.Number },
	}
	terminals = recordKind[directory.Terminal]{
		columns: directory.Terminals, source: ledger.Terminal, index: func(o *organization) *index[directory.Terminal] { return &o.terminals },
		put: (*organization).putTerminal, partnerOf: func(t *directory.Terminal) int64 { return t.Partner }, derive: (*directory.Terminal).Reparse,
	}
	keys = recordKind[directory.APIKey]{
		columns: directory.APIKeys, source: ledger.APIKey, index: func(o *organization) *index[directory.APIKey] { return &o.keys },
		put: (*organization).putKey, partnerOf: func(k *directory.APIKey) int64 { return k.Partner },
		changeableInArchive: true, // a key can always be revoked
	}
	users = recordKind[directory.User]{
		columns: directory.Users, source: ledger.User, index: func(o *organization) *index[directory.User] { return &o.users },
		put: (*organization).putUser, partnerOf: func(u *directory.User) int64 { return u.Partner },
	}
	limits = recordKind[directory.Limit]{
		columns: directory.Limits, source: ledger.Limit, index: func(o *organization) *index[directory.Limit] { return &o.limits },
		put: (*organization).putLimit, partnerOf: func(l *directory.Limit) int64 { return l.Partner },
	}
	rates = recordKind[directory.Rate]{
		columns: directory.Rates, source: ledger.Rate, index: func(o *organization) *index[directory.Rate] { return &o.rates },
		put: (*organization).putRate,
	}
)

// find finds a record of the organization by its id.
func (k recordKind[R]) find(s *Service, org, id ledger.ID) (*R, bool) {
	if o, ok := s.org(org); ok {
		if c, ok := k.index(o).get(id); ok {
			return c.record(), true
		}
	}
	return nil, false
}

// list returns a page of the organization's records of this kind.
func (k recordKind[R]) list(s *Service, org ledger.ID, p Page) ([]*R, Cursor, error) {
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound("directory.List", "organization")
	}
	return readPage(k.index(o), k.order(o, p.Partner), p, (*viewRecord[R]).record)
}

// order returns the organization's records of this kind in the order of creation. If partner is not 0, it returns only the
// records of the partner with this number.
func (k recordKind[R]) order(o *organization, partner int64) []creation {
	if partner == 0 || k.partnerOf == nil {
		return k.index(o).inCreationOrder()
	}
	return k.index(o).ofPartner(partner, k.partnerOf)
}

// recordsAtOnce is the number of records that the method each reads before it calls its function with them.
const recordsAtOnce = 64

// each calls fn with each of the organization's records of this kind, newest first, until fn returns false. nameOf returns a
// record's name; each reads the names in advance, because fn will need them.
func (k recordKind[R]) each(s *Service, org ledger.ID, nameOf func(*R) string, fn func(*R) (more bool)) error {
	o, ok := s.org(org)
	if !ok {
		return notFound("directory.Each", "organization")
	}
	// The records and their names are spread over the memory. In short loops over some of them, the processor can wait for
	// several places in memory at the same time. Such loops take a third of the time.
	index := k.index(o)
	var views [recordsAtOnce]*viewRecord[R]
	var records [recordsAtOnce]*R
	var firsts [recordsAtOnce]byte
	order := index.inCreationOrder()
	for len(order) > 0 {
		part := order[max(0, len(order)-recordsAtOnce):]
		order = order[:len(order)-len(part)]
		for i := range part {
			views[i], _ = index.get(part[i].id)
		}
		for i := range part {
			records[i] = views[i].record()
		}
		for i := range part {
			if name := nameOf(records[i]); name != "" {
				firsts[i] = name[0]
			}
		}
		for _, r := range slices.Backward(records[:len(part)]) {
			if !fn(r) {
				return nil
			}
		}
	}
	return nil
}

// load reads the organization's records of the kind from the store and publishes them.
func (k recordKind[R]) load(s *Service, v *posting.View, o *organization) error {
	all, err := readKind(v, o.id, k.source, k.decoder(s), nil)
	if err != nil {
		return err
	}
	for _, r := range all {
		k.put(o, r.record, r.header)
	}
	return nil
}

// decoder returns the function that reads a stored record.
func (k recordKind[R]) decoder(s *Service) func(at schema.RowMetadata, payload []byte) (*R, error) {
	return func(at schema.RowMetadata, payload []byte) (*R, error) {
		r, err := k.columns.Read(at, payload, columnSealer{s, at.Org, at.ID, k.columns.Name})
		if err == nil && k.derive != nil {
			err = k.derive(r)
		}
		return r, err
	}
}

// create makes a new record of an organization durable. The function decide runs in the organization's actor.
func (k recordKind[R]) create(ctx context.Context, s *Service, op string, org ledger.ID, decide func(o *organization, now ledger.Micros) (*R, ledger.Event, []ledger.Claim, error)) (*R, error) {
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	var created *R
	err := s.write(ctx, org, op, func(now ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		r, event, claims, err := decide(o, now)
		if err != nil {
			return nil, nil, err
		}
		created = r
		step, err := recordStep(s, k.columns, org, 0, r, event)
		return &posting.Change{Steps: []posting.Step{step}, Claims: claims}, r, err
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		k.put(o, created, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// change makes the next version of a record durable. The function find looks up the record. The function decide runs in the
// organization's actor. If decide returns an event without a name, nothing changes.
func (k recordKind[R]) change(ctx context.Context, s *Service, op string, org ledger.ID, find func(*organization) (*viewRecord[R], bool), decide func(o *organization, old *R, now ledger.Micros) (*R, ledger.Event, error)) (*R, error) {
	o, ok := s.org(org)
	if ok {
		_, ok = find(o)
	}
	if !ok {
		return nil, notFound(op, k.columns.Name)
	}
	var next *R
	err := s.write(ctx, org, op, func(now ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil && !k.changeableInArchive {
			return nil, nil, err
		}
		c, _ := find(o)
		old := c.current.Load()
		changed, event, err := decide(o, old.record, now)
		if next = changed; err != nil || event.Name == "" {
			return nil, nil, err
		}
		step, err := recordStep(s, k.columns, org, old.header.Version, next, event)
		return &posting.Change{Steps: []posting.Step{step}}, next, err
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		k.put(o, next, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// metadataOf returns a record's metadata: the fields that the store keeps outside of the payload.
func metadataOf(org, id ledger.ID, header posting.RecordHeader) schema.RowMetadata {
	return schema.RowMetadata{Org: org, ID: id, CreatedAt: header.StartedAt, UpdatedAt: header.UpdatedAt, Seq: header.SettledSeq}
}

// at returns a function that looks up the record with the given id in an organization.
func (k recordKind[R]) at(id ledger.ID) func(*organization) (*viewRecord[R], bool) {
	return func(o *organization) (*viewRecord[R], bool) { return k.index(o).get(id) }
}

// recordStep returns a Step (one record's part of a Change) with the record in its stored form. In the stored form, secrets
// are sealed (encrypted).
func recordStep[R any](s *Service, columns *schema.Type[R], org ledger.ID, expect uint64, r *R, events ...ledger.Event) (posting.Step, error) {
	stored, err := columns.AppendStored(nil, r, columnSealer{s, org, events[0].Source.ID, columns.Name})
	return step(org, expect, stored, events...), err
}

// stepWithoutSecrets is like recordStep, but for a type without secrets.
func stepWithoutSecrets[R any](columns *schema.Type[R], org ledger.ID, expect uint64, r *R, events ...ledger.Event) posting.Step {
	stored, err := columns.AppendStored(nil, r, nil)
	assert.NoError(err)
	return step(org, expect, stored, events...)
}

// columnSealer seals the secret columns of one record, and binds each ciphertext to the record and the column.
type columnSealer struct {
	service *Service
	org, id ledger.ID
	name    string // the name of the record's type
}

// Seal implements schema.Sealer.
func (s columnSealer) Seal(c *schema.Column, plaintext []byte) ([]byte, error) {
	sealed, err := s.service.sealer.Seal(plaintext, s.context(c))
	if err != nil {
		return nil, ledger.Refuse("directory.seal", ledger.Unavailable, "the keyring can't seal %s", c.Name)
	}
	return sealed, nil
}

// Open implements schema.Sealer. If a secret cannot be decrypted, for example because the keyring lacks the key, the record
// is read without the secret. Until the secret is set again, notifications are not signed, or the connected platform refuses
// this server's requests; everything else works.
func (s columnSealer) Open(c *schema.Column, sealed []byte) ([]byte, bool) {
	plaintext, err := s.service.sealer.Open(sealed, s.context(c))
	if err != nil && s.service.sealer != NoKeys {
		s.service.rt.Log.Error("a sealed secret does not open: set it again", s.name, s.id.String(), "secret", c.Name, "error", err)
	}
	return plaintext, err == nil
}

func (s columnSealer) context(c *schema.Column) []byte { return sealedContext(c.Name, s.org, s.id) }

// NoKeys is a Sealer without keys, which can neither encrypt nor decrypt. It is for callers that have no keyring and do not
// change any secret. With NoKeys, failures to decrypt a secret are not logged.
var NoKeys Sealer = noKeys{}

type noKeys struct{}

var errNoKeys = errors.New("there are no keys")

// Seal implements Sealer.
func (noKeys) Seal([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// Open implements Sealer.
func (noKeys) Open([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// sealedContext returns the encryption context that binds a ciphertext to its record and column.
func sealedContext(column string, org, id ledger.ID) []byte {
	return append(append(append(make([]byte, 0, len(column)+2*len(id)), column...), org[:]...), id[:]...)
}
