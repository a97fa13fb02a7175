package directory

import (
	"encoding/json"
	"net/netip"
	"testing"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// parseRequest parses the body of a request.
func parseRequest(t *testing.T, body string) (input schema.Input) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &input); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return input
}

// createByRequest creates a record from the body of a request in two steps. The columns read a draft from the body. Then
// decide makes the record from the draft. The error has the faults of both steps.
func createByRequest[R any](t *testing.T, columns *schema.Type[R], body string, decide func(draft R) (*R, error)) (*R, error) {
	t.Helper()
	faults := new(schema.Faults)
	draft := columns.Create(parseRequest(t, body), faults)
	r, err := decide(*draft)
	return r, Join(FaultsAsRefusals("test", faults), err)
}

// changeOf returns the change that a request with this body makes to a record.
func changeOf[R any](t *testing.T, columns *schema.Type[R], body string) schema.Change[R] {
	t.Helper()
	input := parseRequest(t, body)
	return func(r *R, f *schema.Faults) { columns.Patch(input, r, f) }
}

// mergeObjects returns the object with the members of changes, which replace members of the same name. A member of changes
// with the value null is a way to omit the member, because a request for a new record treats null as absent.
func mergeObjects(t *testing.T, object, changes string) string {
	t.Helper()
	members := parseRequest(t, object)
	for name, value := range parseRequest(t, changes) {
		members[name] = value
	}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// readRecord reads a stored record of an organization.
func readRecord[R any](columns *schema.Type[R], org, id ledger.ID, stored []byte, vault schema.Sealer) (*R, error) {
	return columns.Read(schema.RowMetadata{Org: org, ID: id}, stored, vault)
}

// parseSources parses addresses and prefixes.
func parseSources(t *testing.T, texts ...string) (sources []netip.Prefix) {
	t.Helper()
	for _, text := range texts {
		source, err := ParseSource(text)
		if err != nil {
			t.Fatal(text, err)
		}
		sources = append(sources, source)
	}
	return sources
}
