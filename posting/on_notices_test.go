package posting

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting/store"
)

// When a page of notices is full, it is written into the group at once. From then on writer.finishSize must not count the
// page any more, because tail is the size of the rows that are still to be added. Otherwise a group with many notices
// would end too early.
func TestFullNoticePageIsCountedOnce(t *testing.T) {
	w, state := &writer{group: store.NewGroup(1, [32]byte{})}, &orgState{org: uuid.New()}
	s := Step{Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}}
	for n := range 20 {
		s.Events = append(s.Events, ledger.Event{Name: "a", To: "b", Booked: ledger.Micros(n + 1)})
		s.Notices = append(s.Notices, Notice{Event: n, Channel: Webhook, To: uuid.New(), Body: make([]byte, MaxNotice)})
	}
	w.appendNotices(state, &s)
	if fullPages := w.group.Rows(); fullPages < 5 || state.notices.First == 0 {
		t.Fatalf("%d pages are full, and the open one begins with %d", fullPages, state.notices.First)
	}
	if want := (size{1, noticeRow + state.notices.Bytes()}); w.finishSize != want {
		t.Errorf("%+v is still to be put into the group, want the open page, %+v", w.finishSize, want)
	}
}
