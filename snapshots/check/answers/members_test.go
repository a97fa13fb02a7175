package answers

import (
	"hash/maphash"
	"slices"
	"testing"

	"mizan/ledger/jsonform"
	"mizan/ledger/payment"
)

// If a JSON form of the API gets a new member, the checker compares this member without a change of the checker: it finds a
// response that lacks the member or has another value in it.
func TestNewMemberOfAJSONFormIsCompared(t *testing.T) {
	a := &receivedResponses{seed: maphash.MakeSeed(), memberListIndex: make(map[string]int32)}
	form := string(jsonform.AppendTransaction(nil, new(payment.Record), new(jsonform.TransactionView)))
	longerForm := form[:len(form)-1] + `,"gained":1}`
	parseMembers := func(text string) members { return a.membersOf(parseObject([]byte(text))) }
	for _, c := range []struct {
		name, stored, shown string
		excluded, want      []string
	}{
		{"the same", longerForm, longerForm, nil, nil},
		{"written another way", longerForm, form[:len(form)-1] + ` , "gained" : 1.0 }`, nil, nil},
		{"absent from the answer", longerForm, form, nil, []string{"gained"}},
		{"only in the answer", form, longerForm, nil, []string{"gained"}},
		{"another value", longerForm, form[:len(form)-1] + `,"gained":2}`, nil, []string{"gained"}},
		{"excluded", longerForm, form, []string{"gained"}, nil},
		{"nothing in common", `{"a":1,"c":1}`, `{"b":1,"d":1}`, nil, []string{"a", "b", "c", "d"}},
	} {
		if got := a.differingNames(parseMembers(c.stored), parseMembers(c.shown), c.excluded); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q differ, want %q", c.name, got, c.want)
		}
	}
}
