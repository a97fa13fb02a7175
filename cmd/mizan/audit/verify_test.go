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
	name     string // the path of names to the value
	put      func(any)
	original any
}

func leavesOf(name string, value any, put func(any)) (list []leaf) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, leavesOf(strings.TrimPrefix(name+"."+key, "."), v[key], func(changed any) { v[key] = changed })...)
		}
		return list
	case []any:
		for i := range v {
			list = append(list, leavesOf(name, v[i], func(changed any) { v[i] = changed })...)
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

// undetectedChanges changes the values in a response, one at a time, and returns the names of those whose change
// rule 1 does not detect. It tries the values whose names are in names. If names is nil, it tries all
// values whose names are not in the map known. Then it adds the names of all values to that map.
func (w *workload) undetectedChanges(t *testing.T, line map[string]any, names []string, known map[string]bool) (missed []string) {
	t.Helper()
	tried := 0
	for _, l := range leavesOf("", recordOf(line), nil) {
		if names != nil && !slices.Contains(names, l.name) || names == nil && known[l.name] {
			continue
		}
		tried++
		l.put(changedValue(l.original))
		if report := w.check(t, line); report.Rules[0].Outcome != findings.Broken {
			missed = append(missed, l.name)
		}
		l.put(l.original)
	}
	for _, l := range leavesOf("", recordOf(line), nil) {
		known[l.name] = true
	}
	if tried < len(names) {
		t.Errorf("%s %s: %d values were tried, of %q", line["method"], line["path"], tried, names)
	}
	slices.Sort(missed)
	return slices.Compact(missed)
}

// uncomparedFields are the fields that rule 1 does not compare, by method and path without ids: secrets, fields
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

// routeOf returns a line's method and path, without the common prefix of the API's paths and with "_" for each id.
func routeOf(line map[string]any) string {
	path, _, _ := strings.Cut(line["path"].(string), "?")
	for _, prefix := range []string{"/api/v1/pfp", "/api/v1/baas/islamic-banking", "/api/v1"} {
		if rest, found := strings.CutPrefix(path, prefix); found {
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
	workload := recordWorkload(t)
	report := workload.check(t, workload.lines...)
	if rule := report.Rules[0]; report.Broken() || rule.Count != uint64(len(workload.lines)) || rule.Note != "" {
		t.Fatalf("%+v of %d answers", report.Rules, len(workload.lines))
	}
	tried, done := make(map[string]map[string]bool), make(map[string]bool) // tried: by method and kind of record; done: by route
	for _, line := range workload.lines {
		route := routeOf(line)
		if route == "GET /leases" {
			continue
		}
		family := strings.Join(strings.SplitN(route, "/", 3)[:2], "/")
		again := done[route] // all values of a response on this route were tried before
		done[route] = true
		if tried[family] == nil {
			tried[family] = make(map[string]bool)
		}
		if missed, want := workload.undetectedChanges(t, line, nil, tried[family]), uncomparedFields[route]; !again && !slices.Equal(missed, want) {
			t.Errorf("%s: %q can be changed, want %q", route, missed, want)
		}
	}
}

// alwaysComparedFields are the fields of contracts in which a wrong value is always detected, even after later
// changes of the contract and without a cached reply: the fields that the creation fixed, the times
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
		product, _, _ := strings.Cut(strings.TrimPrefix(routeOf(line), "POST /"), "/")
		if alwaysComparedFields[product] == nil || line["method"] != "POST" || tried[product] == 3 {
			continue
		}
		tried[product]++
		delete(line, "idempotency_key")
		if missed := w.undetectedChanges(t, line, append(slices.Clone(alwaysComparedFields[""]), alwaysComparedFields[product]...), map[string]bool{}); missed != nil {
			t.Errorf("%s: %q can be changed", routeOf(line), missed)
		}
	}
	if len(tried) != len(alwaysComparedFields)-1 {
		t.Errorf("only %v were tried", tried)
	}
}

// Lists of contracts are compared like single contracts.
func TestAuditComparesListsOfContracts(t *testing.T) {
	w := recordWorkload(t)
	i := slices.IndexFunc(w.lines, func(line map[string]any) bool { return routeOf(line) == "GET /leases" })
	if missed := w.undetectedChanges(t, w.lines[i], nil, map[string]bool{}); missed != nil {
		t.Errorf("%q can be changed", missed)
	}
}

// Rule 1 detects a contract that was refused, or shown at another path.
func TestAuditComparesLaterResponsesAboutAContract(t *testing.T) {
	workload := recordWorkload(t)
	i := slices.IndexFunc(workload.lines, func(line map[string]any) bool { return routeOf(line) == "POST /leases" })
	creation, transition, leasePath := workload.lines[i], workload.lines[i+1], "/api/v1/pfp/leases/"+idOf(workload.lines[i]["response"].(map[string]any))
	changed := func(entry map[string]any, pairs ...any) map[string]any {
		other := maps.Clone(entry)
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
		{"as it was", []map[string]any{creation, transition}, true},
		{"unknown later", []map[string]any{creation, changed(creation, "method", "GET", "path", leasePath, "status", 404, "response", unknown)}, false},
		{"unknown in the other prefix", []map[string]any{creation, changed(creation, "method", "GET", "path", "/api/v1/baas/islamic-banking/ijara/"+leasePath[len(leasePath)-36:], "status", 404, "response", unknown)}, true},
		{"of another product", []map[string]any{changed(creation, "path", "/api/v1/pfp/partnerships")}, false},
		{"of the other prefix", []map[string]any{changed(creation, "path", "/api/v1/baas/islamic-banking/ijara")}, false},
		{"of another organization", []map[string]any{changed(creation, "organization_id", "00000000-0000-4000-8000-000000000000")}, false},
		{"another key", []map[string]any{changed(creation, "idempotency_key", "another")}, false},
		{"another action", []map[string]any{changed(transition, "path", leasePath+"/terminate", "idempotency_key", "")}, false},
		{"an action that there is not", []map[string]any{changed(transition, "path", leasePath+"/vanish")}, false},
		{"another contract", []map[string]any{changed(transition, "path", "/api/v1/pfp/leases/00000000-0000-4000-8000-000000000000/acquire")}, false},
		{"nothing", []map[string]any{changed(creation, "response", map[string]any{})}, false},
		{"refused, and the key names it", []map[string]any{changed(creation, "status", 422, "response", unknown)}, false},
		{"refused, and nothing is there", []map[string]any{changed(creation, "status", 422, "response", unknown, "idempotency_key", "free")}, true},
		{"refused, then done", []map[string]any{changed(creation, "status", 422, "response", unknown), creation}, true},
		{"no answer", []map[string]any{changed(creation, "status", 0, "response", nil)}, true},
	} {
		report := workload.check(t, c.lines...)
		if report.Broken() == c.holds || !c.holds && report.Rules[0].Outcome != findings.Broken {
			t.Errorf("%s: %+v", c.name, report.Rules[0])
		}
	}
}

// Rule 1 detects a "not found" response to a partner that had been shown the subscription.
func TestAuditComparesLaterResponsesAboutASubscription(t *testing.T) {
	workload := recordWorkload(t)
	creation := workload.lines[slices.IndexFunc(workload.lines, func(line map[string]any) bool { return routeOf(line) == "POST /subscriptions" })]
	unknown := maps.Clone(creation)
	delete(unknown, "idempotency_key")
	unknown["method"], unknown["status"], unknown["response"] = "GET", 404, map[string]any{"error": "not_found"}
	unknown["path"] = "/api/v1/subscriptions/" + idOf(creation["response"].(map[string]any))
	if report := workload.check(t, creation, unknown); report.Rules[0].Outcome != findings.Broken {
		t.Errorf("the partner's own: %+v", report.Rules[0])
	}
	unknown["partner_id"] = creation["partner_id"].(int64) + 1
	if report := workload.check(t, creation, unknown); report.Broken() {
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
