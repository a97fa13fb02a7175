package posting

import (
	"fmt"

	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting/store"
)

// Channel is the way in which a notice is sent. (A notice is a notification that is stored together with its event.) The values
// of channels are stored, so they must not change.
type Channel byte

// The channels. The zero value is invalid.
const (
	Webhook          Channel = iota + 1 // to a URL of the merchant: signed JSON with the event and data about the notice
	Stream                              // to the same URL as for Webhook: the event alone, unsigned
	OperatorAlert                       // to the terminal's operators, by Telegram and e-mail
	PayerReceipt                        // to the payer, by e-mail: a link to the receipt
	OperatorBulletin                    // to the same operators, but not about an event, and so never in Step.Notices
)

// String returns the name of the channel.
func (c Channel) String() string {
	names := [...]string{"invalid", "webhook", "stream", "operators", "receipt", "bulletin"}
	if int(c) < len(names) {
		return names[c]
	}
	return names[0]
}

// isAboutEvents tells whether the notices that are sent on this channel are about events.
func (c Channel) isAboutEvents() bool { return c >= Webhook && c <= PayerReceipt }

// Notice is a notification about an event. It becomes durable together with the event.
type Notice struct {
	Event       int     // the event's index in Step.Events
	Channel     Channel // how the notice is sent
	IsTransient bool    // set by the writer if the notice is in Step.Transient, and so is not stored
	To          ledger.ID
	Body        []byte // at most MaxNotice bytes; stored in a row of notices

	// Origin identifies the request that caused the event. It is not stored, so it is known only during the first attempt to
	// deliver the notice.
	Origin tracing.Origin

	// Subject contains the data that the notice is about, so that the first attempt to deliver the notice need not read the
	// record. Subject is kept only in memory. After Submit, the caller must modify neither Subject nor Body.
	Subject any

	// The writer sets the fields below.
	Source    ledger.Source
	Booked    ledger.Micros // booked time of the event; Booked and Channel identify the notice within its organization
	PageStart ledger.Micros // booked time of the first notice on the same page (a stored row of consecutive notices)
}

// MaxNotice is the maximum length of a notice's body in bytes.
const MaxNotice = store.MaxNotice

// KV is a key-value row that belongs to an actor. The journal writes the row together with the Change, and does not interpret
// it. Keys that begin with 'n' are those of the pages of notices, which the writer makes: a Change may remove such a row, but
// not set it. Keys that begin with 't' are those of the checkpoints from which trial balances start.
type KV struct {
	Org   ledger.ID
	Key   []byte // at most 256 bytes
	Value []byte // at most 96 KiB; nil to remove the row
}

func (kv *KV) check() error {
	if len(kv.Key) == 0 || len(kv.Key) > store.MaxKVKey || len(kv.Value) > store.MaxKVValue {
		return fmt.Errorf("a KV with a key of %d and a value of %d bytes", len(kv.Key), len(kv.Value))
	}
	if kv.Value != nil && !store.IsActorKV(kv.Key) {
		return fmt.Errorf("a KV among the pages of notices")
	}
	return nil
}

func (s *Step) checkNotices() error {
	lastEvent := 0
	for i := range s.Notices {
		n := &s.Notices[i]
		if n.Event < lastEvent || n.Event >= len(s.Events) || !n.Channel.isAboutEvents() || len(n.Body) > MaxNotice {
			return fmt.Errorf("notice of event %d by channel %d with %d bytes", n.Event, n.Channel, len(n.Body))
		}
		if i > 0 && n.Event == lastEvent && n.Channel <= s.Notices[i-1].Channel {
			return fmt.Errorf("event %d has two notices by channel %d", n.Event, n.Channel)
		}
		lastEvent = n.Event
	}
	for i := range s.Transient {
		if n := &s.Transient[i]; n.Event < 0 || n.Event >= len(s.Events) || !n.Channel.isAboutEvents() || len(n.Body) > MaxNotice {
			return fmt.Errorf("transient notice of event %d by channel %d with %d bytes", n.Event, n.Channel, len(n.Body))
		}
	}
	return nil
}

// orgNotices contains the notices of one organization in one group (the changes that become durable together).
type orgNotices struct {
	org     ledger.ID
	notices []Notice
}

// appendNotices adds the step's notices to the organization's open page, which is the row of notices that the group is filling.
// It puts the hashes of the notices into the events. Transient notices are not added to a page; they are only passed to the
// committer.
func (w *writer) appendNotices(b *orgState, s *Step) {
	w.hashInput = w.hashInput[:0]
	for i := range s.Notices {
		n := &s.Notices[i]
		if b.notices.Full(len(n.Body)) {
			// The page will be counted as a row of the group, so it must not be counted in w.finishSize any more.
			w.finishSize.add(-1, -noticeRow-b.notices.Bytes())
			w.flushNotices(b)
		}
		if b.notices.First == 0 {
			w.finishSize.add(1, noticeRow)
		}
		oldBytes := b.notices.Bytes()
		n.Source, n.Booked = s.Source, s.Events[n.Event].Booked
		stored := store.Notice{Booked: n.Booked, Source: n.Source, Channel: byte(n.Channel), To: n.To, Body: n.Body}
		b.notices.Add(&stored)
		n.PageStart = b.notices.First
		w.hashInput = stored.AppendHashed(w.hashInput)
		if i+1 == len(s.Notices) || s.Notices[i+1].Event != n.Event {
			s.Events[n.Event].StoredHashes.Notices = store.HashNotices(w.hashInput)
			w.hashInput = w.hashInput[:0]
		}
		w.finishSize.bytes += b.notices.Bytes() - oldBytes
		b.newNotices = append(b.newNotices, *n)
	}
	for i := range s.Transient {
		n := &s.Transient[i]
		n.Source, n.Booked, n.IsTransient = s.Source, s.Events[n.Event].Booked, true
		b.newNotices = append(b.newNotices, *n)
	}
}

// flushNotices writes the organization's open page of notices as a row into the group.
func (w *writer) flushNotices(b *orgState) {
	if b.notices.First == 0 {
		return
	}
	w.key = store.KeyNoticePage(w.key[:0], b.org, b.notices.First)
	w.group.Set(w.key, b.notices.Row())
	b.notices.Reset()
}

// finishNotices writes the organization's last page of notices into the group. It passes all notices of the organization to the
// committer, which calls the function of OnNotices with them when the group is durable.
func (w *writer) finishNotices(b *orgState) {
	w.flushNotices(b)
	if len(b.newNotices) == 0 {
		return
	}
	w.out.notices = append(w.out.notices, orgNotices{b.org, b.newNotices})
	b.newNotices = nil
	if len(w.orgs) > maxBufferingOrgs {
		b.notices = store.NoticePage{}
	}
}

// OnNotices sets the function that is called with the notices of each durable group, before the group's changes are
// acknowledged. For each organization that has notices in the group, fn is called once, with all these notices in the order of
// booking. It runs on the committer, the goroutine that makes groups durable, so it must not block. fn may keep the slice.
// OnNotices must be called before any Change with notices is submitted.
func (j *Journal) OnNotices(fn func(org ledger.ID, notices []Notice)) { j.onNotices = fn }

// KV returns the value of the organization's KV with this key. If there is no such KV, it returns false.
func (v *View) KV(org ledger.ID, key []byte) ([]byte, bool, error) {
	return v.snap.Get(store.KeyKV(nil, org, key), nil)
}

// KVsAscending calls fn with the organization's KVs whose keys begin with prefix, in ascending order of the keys. It begins
// with the first key ≥ from, or with the first key of all if from is nil. key and value are valid until fn returns.
func (v *View) KVsAscending(org ledger.ID, prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return v.snap.Ascend(store.KeyKV(nil, org, prefix), kvFrom(org, from), func(key, value []byte) (bool, error) {
		return fn(store.KVKey(key), value)
	})
}

// KVKeys is like KVsAscending, but does not read the values. If fn returns a key in skipTo, the iteration continues with the
// first key ≥ skipTo. skipTo must be above the current key.
func (v *View) KVKeys(org ledger.ID, prefix, from []byte, fn func(key []byte) (skipTo []byte, more bool, err error)) error {
	return v.snap.AscendKeys(store.KeyKV(nil, org, prefix), kvFrom(org, from), func(key []byte) ([]byte, bool, error) {
		skip, more, err := fn(store.KVKey(key))
		if skip != nil {
			skip = store.KeyKV(nil, org, skip)
		}
		return skip, more, err
	})
}

// KVsDescending is like KVsAscending, but in descending order. It begins with the greatest key ≤ from, or with the last key of
// all if from is nil.
func (v *View) KVsDescending(org ledger.ID, prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return v.snap.Descend(store.KeyKV(nil, org, prefix), kvFrom(org, from), func(key, value []byte) (bool, error) {
		return fn(store.KVKey(key), value)
	})
}

func kvFrom(org ledger.ID, from []byte) []byte {
	if from == nil {
		return nil
	}
	return store.KeyKV(nil, org, from)
}

// NoticesAscending calls fn with an organization's notices in ascending order. It begins with the page on which a notice would
// be that was booked at the instant from. A notice's body is valid until fn returns.
func (v *View) NoticesAscending(org ledger.ID, from ledger.Micros, fn func(n *Notice) (more bool, err error)) error {
	prefix := store.KeyNotices(nil, org)
	start, _, found, err := v.snap.Last(prefix, store.KeyNoticePage(nil, org, from))
	if err != nil {
		return err
	}
	if !found {
		start = nil
	}
	return v.snap.Ascend(prefix, start, func(key, row []byte) (bool, error) { return eachNotice(key, row, fn) })
}

// NoticePages calls fn with pages of an organization's notices, the newest page first. It begins with the page on which a
// notice would be that was booked at the instant from, or with the newest page if from is 0. fn may keep the notices, but their
// bodies are valid only until fn returns.
func (v *View) NoticePages(org ledger.ID, from ledger.Micros, fn func(page ledger.Micros, notices []Notice) (more bool, err error)) error {
	var start []byte
	if from != 0 {
		start = store.KeyNoticePage(nil, org, from)
	}
	return v.snap.Descend(store.KeyNotices(nil, org), start, func(key, row []byte) (bool, error) {
		var page []Notice
		_, err := eachNotice(key, row, func(n *Notice) (bool, error) {
			page = append(page, *n)
			return true, nil
		})
		if err != nil || len(page) == 0 {
			return err == nil, err
		}
		return fn(page[0].PageStart, page)
	})
}

func eachNotice(key, row []byte, fn func(n *Notice) (bool, error)) (more bool, err error) {
	page, ok := store.ParseNoticePage(key)
	if !ok {
		return false, damaged("page of notices with key %x", key)
	}
	more = true
	err = store.EachNotice(page, row, func(n *store.Notice) (bool, error) {
		var err error
		more, err = fn(&Notice{Channel: Channel(n.Channel), To: n.To, Body: n.Body, Source: n.Source, Booked: n.Booked, PageStart: page})
		return more, err
	})
	return more, err
}
