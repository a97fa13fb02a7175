package store

import (
	"bytes"
	"reflect"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

func TestGroupKeyIsThatOfTheGroupsPath(t *testing.T) {
	tether := money.Asset{Currency: "USDT", Network: "tron", Env: money.Test}
	for path, group := range map[ledger.Path]ledger.Path{
		"A:bank": "A:", "L:partner:1:available": "L:partner:", "L:suspense:7": "L:suspense:", "M:a:b:c:d": "M:a:",
	} {
		for _, asset := range []money.Asset{manats, tether} {
			account := AccountKey(nil, ledger.Account{Path: path, Asset: asset})
			key := GroupKey(nil, account)
			want := append([]byte(GroupKeys), AccountKey(nil, ledger.Account{Path: group, Asset: asset})...)
			parsed, ok := ParseGroupKey(key)
			if !bytes.Equal(key, want) || !ok || parsed != (ledger.Account{Path: group, Asset: asset}) || path.Group() != group {
				t.Errorf("%s: %q, want %q; it is parsed as %+v, %v; the path's group is %s", path, key, want, parsed, ok, path.Group())
			}
			if bytes.Compare(key, account) <= 0 {
				t.Errorf("%s: its group precedes it", path)
			}
			if _, ok := ParseGroupKey(account); ok {
				t.Errorf("%s is parsed as a group", path)
			}
		}
	}
	for _, malformed := range []string{"", ":", "\x01A:bank", "\x00"} {
		if _, ok := ParseGroupKey(GroupKey(nil, []byte(malformed))); ok {
			t.Errorf("an account with the key %q has a group that can be parsed", malformed)
		}
	}
}

// groupsOf returns the groups of a checkpoint of the accounts, by path.
func groupsOf(t *testing.T, accounts []ledger.Path, m ledger.Movement) map[ledger.Path]ledger.Movement {
	t.Helper()
	groups := make(map[ledger.Path]ledger.Movement)
	w := CheckpointWriter{Write: func(_, row []byte) error {
		for part := NewCheckpointPart(row); ; {
			more, err := part.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				return nil
			}
			if group, ok := ParseGroupKey(part.Key); ok {
				groups[group.Path] = part.Movement
			}
		}
	}}
	for _, path := range accounts {
		if err := w.Add(AccountKey(nil, ledger.Account{Path: path, Asset: manats}), &m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if w.Head.Accounts != uint64(len(accounts)) {
		t.Errorf("it has %d accounts", w.Head.Accounts)
	}
	return groups
}

func TestCheckpointHasTheSumsOfGroups(t *testing.T) {
	debits := func(n uint64) ledger.Movement {
		return ledger.Movement{DebitsPosted: money.Signed{Abs: money.FromUint64(n)}}
	}
	got := groupsOf(t, []ledger.Path{"A:bank", "A:cash", "L:partner:1:available", "L:partner:2:available", "L:partner:3:available"}, debits(5))
	if want := map[ledger.Path]ledger.Movement{"A:": debits(10), "L:partner:": debits(15)}; !reflect.DeepEqual(got, want) {
		t.Errorf("the groups are %+v, want %+v", got, want)
	}
}

// The sum of a group may be too great for an amount although the sums of its accounts are not. Such a checkpoint can be made.
func TestGroupWhoseSumIsOutOfRange(t *testing.T) {
	great := ledger.Movement{CreditsPosted: money.Signed{Abs: money.Max}}
	got := groupsOf(t, []ledger.Path{"L:partner:1:available", "L:partner:2:available", "L:partner:3:available"}, great)
	if got["L:partner:"] != OutOfRangeMovement {
		t.Errorf("the group is %+v", got)
	}
	sums := GroupSums{}
	key := []byte("group")
	for _, m := range []ledger.Movement{great, OutOfRangeMovement, {CreditsPosted: money.Signed{Abs: money.Max, Negative: true}}} {
		sums.Add(key, &m)
	}
	if *sums[string(key)] != OutOfRangeMovement {
		t.Errorf("the sum is in range again: %+v", sums[string(key)])
	}
}
