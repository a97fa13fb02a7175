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

// leaf is a value in a JSON response that is neither object nor list.
type leaf struct {
	name     string    // names of the members that lead to the value, joined with dots, such as data.amount
	replace  func(any) // replaces the value in the response
	original any
}

// leavesOf lists the leaves of a JSON value. If the value itself is a leaf, replace is the function that replaces it.
func leavesOf(name string, value any, replace func(any)) (list []leaf) {
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
	return []leaf{{name, replace, value}}
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

// undetectedChanges changes the values in a response, one at a time, and returns the names of the values whose
// change is not detected by the checker's rule 1, which compares responses with the store. It tries the values
// that are listed in names or, if names is nil, all values that are not in triedNames. Then it adds the names of all
// values to triedNames.
func (w *workload) undetectedChanges(t *testing.T, line map[string]any, names []string, triedNames map[string]bool) (undetected []string) {
	t.Helper()
	triedCount := 0
	for _, l := range leavesOf("", recordOf(line), nil) {
		if names != nil && !slices.Contains(names, l.name) || names == nil && triedNames[l.name] {
			continue
		}
		triedCount++
		l.replace(changedValue(l.original))
		if report := w.check(t, line); report.Rules[0].Outcome != findings.Broken {
			undetected = append(undetected, l.name)
		}
		l.replace(l.original)
	}
	for _, l := range leavesOf("", recordOf(line), nil) {
		triedNames[l.name] = true
	}
	if triedCount < len(names) {
		t.Errorf("%s %s: %d values were tried, of %q", line["method"], line["path"], triedCount, names)
	}
	slices.Sort(undetected)
	return slices.Compact(undetected)
}

// uncomparedFields are the fields of responses that the checker's rule 1 does not compare with the store: secrets, fields that
// may be masked, fields that change from day to day, and the changeable fields of records that have changed since the response.
// The keys are a request's method and URL path, with "_" for each id.
var uncomparedFields = map[string][]string{
	"POST /murabaha": {"days_past_due"}, "GET /murabaha/_": {"days_past_due"},
	"POST /partners":  {"secret"},
	"POST /users":     {"active", "email", "lang", "name", "partner_id", "roles"},
	"DELETE /users/_": {"active", "email", "lang", "name", "partner_id", "roles"},
	"POST /limits":    {"active", "max_amount", "max_count"}, "PATCH /limits/_": {"active", "max_amount", "max_count"},
	"POST /subscriptions": {"next_renewal_at"},
}

// routeOf returns the method and URL path of a recorded request, without the common prefix of the API's paths and with "_" for
// each id.
func routeOf(line map[string]any) string {
	path, _, _ := strings.Cut(line["path"].(string), "?")
	for _, prefix := range []string{"/api/v1/pfp", "/api/v1/baas/islamic-banking", "/api/v1"} {
		if shortPath, found := strings.CutPrefix(path, prefix); found {
			path = shortPath
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
	triedNames, triedRoutes := make(map[string]map[string]bool), make(map[string]bool) // the names by method and kind of record
	for _, line := range workload.lines {
		route := routeOf(line)
		if route == "GET /leases" {
			continue
		}
		family := strings.Join(strings.SplitN(route, "/", 3)[:2], "/")
		isRepeated := triedRoutes[route] // all values of a response on this route were tried before
		triedRoutes[route] = true
		if triedNames[family] == nil {
			triedNames[family] = make(map[string]bool)
		}
		if undetected, want := workload.undetectedChanges(t, line, nil, triedNames[family]), uncomparedFields[route]; !isRepeated && !slices.Equal(undetected, want) {
			t.Errorf("%s: %q can be changed, want %q", route, undetected, want)
		}
	}
}

// alwaysComparedFields are the fields of contracts in which the checker always detects a wrong value in a response, even after
// later changes of the contract and without a cached reply. They are the fields that the creation fixed, the times and the
// status, and the sums that entries have moved. They are listed by product; those under "" are common to all products.
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

func TestAuditFindsChangedValuesWithoutACachedReply(t *testing.T) {
	workload := recordWorkload(t)
	triedLines := make(map[string]int)
	for _, line := range workload.lines {
		product, _, _ := strings.Cut(strings.TrimPrefix(routeOf(line), "POST /"), "/")
		if alwaysComparedFields[product] == nil || line["method"] != "POST" || triedLines[product] == 3 {
			continue
		}
		triedLines[product]++
		delete(line, "idempotency_key")
		if undetected := workload.undetectedChanges(t, line, append(slices.Clone(alwaysComparedFields[""]), alwaysComparedFields[product]...), map[string]bool{}); undetected != nil {
			t.Errorf("%s: %q can be changed", routeOf(line), undetected)
		}
	}
	if len(triedLines) != len(alwaysComparedFields)-1 {
		t.Errorf("only %v were tried", triedLines)
	}
}

// The checker also compares the contracts in a response with a list of contracts.
func TestAuditComparesListsOfContracts(t *testing.T) {
	workload := recordWorkload(t)
	i := slices.IndexFunc(workload.lines, func(line map[string]any) bool { return routeOf(line) == "GET /leases" })
	if undetected := workload.undetectedChanges(t, workload.lines[i], nil, map[string]bool{}); undetected != nil {
		t.Errorf("%q can be changed", undetected)
	}
}

// The checker's rule 1 detects a response about a contract that contradicts the store, such as "not found".
func TestAuditComparesLaterResponsesAboutAContract(t *testing.T) {
	workload := recordWorkload(t)
	i := slices.IndexFunc(workload.lines, func(line map[string]any) bool { return routeOf(line) == "POST /leases" })
	creation, transition, leasePath := workload.lines[i], workload.lines[i+1], "/api/v1/pfp/leases/"+idOf(workload.lines[i]["response"].(map[string]any))
	withChanges := func(line map[string]any, pairs ...any) map[string]any {
		changed := maps.Clone(line)
		for k := 0; k < len(pairs); k += 2 {
			changed[pairs[k].(string)] = pairs[k+1]
		}
		return changed
	}
	notFound := map[string]any{"error": "not_found"}
	for _, c := range []struct {
		name   string
		lines  []map[string]any
		isTrue bool
	}{
		{"unchanged", []map[string]any{creation, transition}, true},
		{"not found later", []map[string]any{creation, withChanges(creation, "method", "GET", "path", leasePath, "status", 404, "response", notFound)}, false},
		{"not found under the other prefix", []map[string]any{creation, withChanges(creation, "method", "GET", "path", "/api/v1/baas/islamic-banking/ijara/"+leasePath[len(leasePath)-36:], "status", 404, "response", notFound)}, true},
		{"created as another product", []map[string]any{withChanges(creation, "path", "/api/v1/pfp/partnerships")}, false},
		{"created under the other prefix", []map[string]any{withChanges(creation, "path", "/api/v1/baas/islamic-banking/ijara")}, false},
		{"created by another organization", []map[string]any{withChanges(creation, "organization_id", "00000000-0000-4000-8000-000000000000")}, false},
		{"another idempotency key", []map[string]any{withChanges(creation, "idempotency_key", "another")}, false},
		{"another action", []map[string]any{withChanges(transition, "path", leasePath+"/terminate", "idempotency_key", "")}, false},
		{"an unknown action", []map[string]any{withChanges(transition, "path", leasePath+"/vanish")}, false},
		{"another contract", []map[string]any{withChanges(transition, "path", "/api/v1/pfp/leases/00000000-0000-4000-8000-000000000000/acquire")}, false},
		{"an empty response", []map[string]any{withChanges(creation, "response", map[string]any{})}, false},
		{"refused, but its idempotency key has a contract", []map[string]any{withChanges(creation, "status", 422, "response", notFound)}, false},
		{"refused, and its idempotency key is unused", []map[string]any{withChanges(creation, "status", 422, "response", notFound, "idempotency_key", "free")}, true},
		{"refused, then created", []map[string]any{withChanges(creation, "status", 422, "response", notFound), creation}, true},
		{"no response", []map[string]any{withChanges(creation, "status", 0, "response", nil)}, true},
	} {
		report := workload.check(t, c.lines...)
		if report.Broken() == c.isTrue || !c.isTrue && report.Rules[0].Outcome != findings.Broken {
			t.Errorf("%s: %+v", c.name, report.Rules[0])
		}
	}
}

// The checker's rule 1 detects a "not found" response to a partner to whom an earlier response showed the
// subscription.
func TestAuditComparesLaterResponsesAboutASubscription(t *testing.T) {
	workload := recordWorkload(t)
	creation := workload.lines[slices.IndexFunc(workload.lines, func(line map[string]any) bool { return routeOf(line) == "POST /subscriptions" })]
	notFound := maps.Clone(creation)
	delete(notFound, "idempotency_key")
	notFound["method"], notFound["status"], notFound["response"] = "GET", 404, map[string]any{"error": "not_found"}
	notFound["path"] = "/api/v1/subscriptions/" + idOf(creation["response"].(map[string]any))
	if report := workload.check(t, creation, notFound); report.Rules[0].Outcome != findings.Broken {
		t.Errorf("the partner's own: %+v", report.Rules[0])
	}
	notFound["partner_id"] = creation["partner_id"].(int64) + 1
	if report := workload.check(t, creation, notFound); report.Broken() {
		t.Errorf("another partner's: %+v", report.Rules[0])
	}
}

// If a rule can't compare any of the responses, the report says how many responses there are.
func TestAuditReportsRulesWithNothingToCompare(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	server.Stop()
	path := filepath.Join(t.TempDir(), "answers")
	line := `{"method":"GET","path":"/api/v1/health","status":200,"response":{}}` + "\n"
	if err := os.WriteFile(path, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	result := testkit.Run(t, nil, "audit", "verify", "--data", server.Dir, "--answers", path)
	want := "rule 1 skipped 0 acknowledged responses are stored as they were given\n  0 answers compared, 2 not of a kind that can be compared\n"
	if result.Exit != 0 || !strings.HasPrefix(result.Stdout, want) {
		t.Errorf("exit %d:\n%s%s", result.Exit, result.Stdout, result.Stderr)
	}
}
