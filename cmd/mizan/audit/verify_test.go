package audit

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testkit"
	"mizan/snapshots/check/findings"
)

// leaf is a value in a response that is neither object nor list, with a function that replaces the
// value.
type leaf struct {
	name string // the path of names to the value
	put  func(any)
	was  any
}

func leavesOf(name string, value any, put func(any)) (list []leaf) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, leavesOf(strings.TrimPrefix(name+"."+key, "."), v[key], func(other any) { v[key] = other })...)
		}
		return list
	case []any:
		for i := range v {
			list = append(list, leavesOf(name, v[i], func(other any) { v[i] = other })...)
		}
		return list
	}
	return []leaf{{name, put, value}}
}

// changedValue returns a different value of the same kind.
func changedValue(value any) any {
	switch v := value.(type) {
	case string:
		if strings.Trim(v, "0123456789") == "" {
			return v + "1"
		}
		return "nonsense"
	case json.Number:
		return json.Number("1" + string(v))
	case bool:
		return !v
	}
	return "nonsense"
}

// recordOf returns the record in a response: the data member or, for a transaction, the whole response.
func recordOf(line map[string]any) any {
	response := line["response"].(map[string]any)
	if data, has := response["data"]; has {
		return data
	}
	return response
}

// undetectedChanges returns the names of the values in a response that can be changed without rule 1 detecting
// the change. only selects the values to try; nil: all except those in before.
func (w *workload) undetectedChanges(t *testing.T, line map[string]any, only []string, before map[string]bool) (missed []string) {
	t.Helper()
	tried := 0
	for _, l := range leavesOf("", recordOf(line), nil) {
		if only != nil && !slices.Contains(only, l.name) || only == nil && before[l.name] {
			continue
		}
		tried++
		l.put(changedValue(l.was))
		if report := w.check(t, line); report.Rules[0].Outcome != findings.Broken {
			missed = append(missed, l.name)
		}
		l.put(l.was)
	}
	for _, l := range leavesOf("", recordOf(line), nil) {
		before[l.name] = true
	}
	if tried < len(only) {
		t.Errorf("%s %s: %d values were tried, of %q", line["method"], line["path"], tried, only)
	}
	slices.Sort(missed)
	return slices.Compact(missed)
}

// beside are the fields that rule 1 does not compare, by method and path without ids: secrets, fields
// that may be masked, fields that change from day to day, and the changeable fields of records that
// have changed since the response.
var uncomparedFields = map[string][]string{
	"POST /murabaha": {"days_past_due"}, "GET /murabaha/_": {"days_past_due"},
	"POST /partners":  {"secret"},
	"POST /users":     {"active", "email", "name", "partner_id", "roles"},
	"DELETE /users/_": {"active", "email", "name", "partner_id", "roles"},
	"POST /limits":    {"active", "max_amount", "max_count"}, "PATCH /limits/_": {"active", "max_amount", "max_count"},
	"POST /subscriptions": {"next_renewal_at"},
}

// shapeOf returns a line's method and path without its family and its ids.
func shapeOf(line map[string]any) string {
	path, _, _ := strings.Cut(line["path"].(string), "?")
	for _, family := range []string{"/api/v1/pfp", "/api/v1/baas/islamic-banking", "/api/v1"} {
		if rest, found := strings.CutPrefix(path, family); found {
			path = rest
			break
		}
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) == 36 || strings.Trim(part, "0123456789") == "" && part != "" {
			parts[i] = "_"
		}
	}
	return line["method"].(string) + " " + strings.Join(parts, "/")
}

func TestAuditFindsEveryChangedValueOfAResponse(t *testing.T) {
	w := recordWorkload(t)
	report := w.check(t, w.lines...)
	if rule := report.Rules[0]; report.Broken() || rule.Count != uint64(len(w.lines)) || rule.Note != "" {
		t.Fatalf("%+v of %d answers", report.Rules, len(w.lines))
	}
	tried, done := make(map[string]map[string]bool), make(map[string]bool) // tried: by method and kind of record; done: by shape
	for _, line := range w.lines {
		shape := shapeOf(line)
		if shape == "GET /leases" {
			continue
		}
		about := strings.Join(strings.SplitN(shape, "/", 3)[:2], "/")
		again := done[shape] // all values of a response of this shape were tried before
		done[shape] = true
		if tried[about] == nil {
			tried[about] = make(map[string]bool)
		}
		if missed, want := w.undetectedChanges(t, line, nil, tried[about]), uncomparedFields[shape]; !again && !slices.Equal(missed, want) {
			t.Errorf("%s: %q can be changed, want %q", shape, missed, want)
		}
	}
}

// lasting are the fields of contracts in which a wrong value is always detected, even after later
// changes of the contract and without a cached reply: the fields that the creation fixed, the instant
// and the status, and the sums that entries have moved.
var alwaysComparedFields = map[string][]string{
	"leases":               {"customer_id", "asset_cost", "monthly_rental", "metadata.a", "total_rentals_paid", "total_owner_expenses"},
	"partnerships":         {"customer_id", "total_value", "profit_sharing_ratio.bank", "bank_profit_share"},
	"certificate-issues":   {"name", "total_value", "certificate_value", "total_profit_distributed"},
	"managed-investments":  {"capital_amount", "term_months", "bank_profit_share", "total_loss"},
	"investment-deposits":  {"customer_id", "currency"},
	"safekeeping-deposits": {"custody_type", "initial_amount", "hibah_total"},
	"murabaha":             {"asset_cost", "markup_rate", "product_type", "organization_id", "profit_recognised"},
	"musharaka":            {"total_value", "bank_contribution", "product_type"},
	"wadiah":               {"initial_amount", "hibah_total"},
	"":                     {"id", "contract_number", "status", "env", "inserted_at", "updated_at"},
}

func TestAuditFindsChangesToFieldsThatNoWriteChanges(t *testing.T) {
	w := recordWorkload(t)
	tried := make(map[string]int)
	for _, line := range w.lines {
		product, _, _ := strings.Cut(strings.TrimPrefix(shapeOf(line), "POST /"), "/")
		if alwaysComparedFields[product] == nil || line["method"] != "POST" || tried[product] == 3 {
			continue
		}
		tried[product]++
		delete(line, "idempotency_key")
		if missed := w.undetectedChanges(t, line, append(slices.Clone(alwaysComparedFields[""]), alwaysComparedFields[product]...), map[string]bool{}); missed != nil {
			t.Errorf("%s: %q can be changed", shapeOf(line), missed)
		}
	}
	if len(tried) != len(alwaysComparedFields)-1 {
		t.Errorf("only %v were tried", tried)
	}
}

// Lists of contracts are compared like single contracts.
func TestAuditComparesListsOfContracts(t *testing.T) {
	w := recordWorkload(t)
	i := slices.IndexFunc(w.lines, func(line map[string]any) bool { return shapeOf(line) == "GET /leases" })
	if missed := w.undetectedChanges(t, w.lines[i], nil, map[string]bool{}); missed != nil {
		t.Errorf("%q can be changed", missed)
	}
}

// Rule 1 detects a contract that was refused, or shown at another path.
func TestAuditComparesLaterResponsesAboutAContract(t *testing.T) {
	w := recordWorkload(t)
	i := slices.IndexFunc(w.lines, func(line map[string]any) bool { return shapeOf(line) == "POST /leases" })
	made, moved, gone := w.lines[i], w.lines[i+1], "/api/v1/pfp/leases/"+idOf(w.lines[i]["response"].(map[string]any))
	with := func(of map[string]any, pairs ...any) map[string]any {
		other := maps.Clone(of)
		for k := 0; k < len(pairs); k += 2 {
			other[pairs[k].(string)] = pairs[k+1]
		}
		return other
	}
	unknown := map[string]any{"error": "not_found"}
	for _, c := range []struct {
		name  string
		lines []map[string]any
		holds bool
	}{
		{"as it was", []map[string]any{made, moved}, true},
		{"unknown later", []map[string]any{made, with(made, "method", "GET", "path", gone, "status", 404, "response", unknown)}, false},
		{"unknown in the other family", []map[string]any{made, with(made, "method", "GET", "path", "/api/v1/baas/islamic-banking/ijara/"+gone[len(gone)-36:], "status", 404, "response", unknown)}, true},
		{"of another product", []map[string]any{with(made, "path", "/api/v1/pfp/partnerships")}, false},
		{"of the other family", []map[string]any{with(made, "path", "/api/v1/baas/islamic-banking/ijara")}, false},
		{"of another organization", []map[string]any{with(made, "organization_id", "00000000-0000-4000-8000-000000000000")}, false},
		{"another key", []map[string]any{with(made, "idempotency_key", "another")}, false},
		{"another action", []map[string]any{with(moved, "path", gone+"/terminate", "idempotency_key", "")}, false},
		{"an action that there is not", []map[string]any{with(moved, "path", gone+"/vanish")}, false},
		{"another contract", []map[string]any{with(moved, "path", "/api/v1/pfp/leases/00000000-0000-4000-8000-000000000000/acquire")}, false},
		{"nothing", []map[string]any{with(made, "response", map[string]any{})}, false},
		{"refused, and the key names it", []map[string]any{with(made, "status", 422, "response", unknown)}, false},
		{"refused, and nothing is there", []map[string]any{with(made, "status", 422, "response", unknown, "idempotency_key", "free")}, true},
		{"refused, then done", []map[string]any{with(made, "status", 422, "response", unknown), made}, true},
		{"no answer", []map[string]any{with(made, "status", 0, "response", nil)}, true},
	} {
		report := w.check(t, c.lines...)
		if report.Broken() == c.holds || !c.holds && report.Rules[0].Outcome != findings.Broken {
			t.Errorf("%s: %+v", c.name, report.Rules[0])
		}
	}
}

// Rule 1 detects a "not found" response to a partner that had been shown the subscription.
func TestAuditComparesLaterResponsesAboutASubscription(t *testing.T) {
	w := recordWorkload(t)
	made := w.lines[slices.IndexFunc(w.lines, func(line map[string]any) bool { return shapeOf(line) == "POST /subscriptions" })]
	unknown := maps.Clone(made)
	delete(unknown, "idempotency_key")
	unknown["method"], unknown["status"], unknown["response"] = "GET", 404, map[string]any{"error": "not_found"}
	unknown["path"] = "/api/v1/subscriptions/" + idOf(made["response"].(map[string]any))
	if report := w.check(t, made, unknown); report.Rules[0].Outcome != findings.Broken {
		t.Errorf("the partner's own: %+v", report.Rules[0])
	}
	unknown["partner_id"] = made["partner_id"].(int64) + 1
	if report := w.check(t, made, unknown); report.Broken() {
		t.Errorf("another partner's: %+v", report.Rules[0])
	}
}

// A rule with nothing to compare reports that, with the number of responses.
func TestAuditReportsRulesWithNothingToCompare(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Stop()
	path := filepath.Join(t.TempDir(), "answers")
	about := `{"method":"GET","path":"/api/v1/health","status":200,"response":{}}` + "\n"
	if err := os.WriteFile(path, []byte(about+about), 0o600); err != nil {
		t.Fatal(err)
	}
	checked := testkit.Run(t, nil, "audit", "verify", "--data", s.Dir, "--answers", path)
	want := "rule 1 skipped 0\n  0 answers compared, 2 not of a kind that can be compared\n"
	if checked.Exit != 0 || !strings.HasPrefix(checked.Stdout, want) {
		t.Errorf("exit %d:\n%s%s", checked.Exit, checked.Stdout, checked.Stderr)
	}
}
