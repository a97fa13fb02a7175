package serving

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// observabilityDir is the folder with the alert rules and the dashboard.
var observabilityDir = filepath.Join("..", "..", "..", "docs", "observability")

// promtool returns the path of Prometheus' checker, or skips the test.
func promtool(t *testing.T) string {
	t.Helper()
	if path, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "promtool")); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here: `make promtool` builds it as bin/promtool")
	}
	return path
}

// runPromtool runs promtool in the folder of the rules.
func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	command := exec.Command(promtool(t), args...)
	command.Dir = observabilityDir
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func TestAlertRulesPassTheirTests(t *testing.T) {
	runPromtool(t, "check", "rules", "--lint=all", "--lint-fatal", "alerts.yml")
	runPromtool(t, "test", "rules", "alerts_test.yml")
}

// alert has the parts of an alert rule that the tests use.
type alert struct{ name, expr string }

// ruleText matches an alert rule in alerts.yml. It captures the rule's name and its expression, which is on one line or folded
// over several lines.
var ruleText = regexp.MustCompile(`(?m)^ +- alert: (\w+)\n +expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)`)

func readAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	text := testkit.ReadDoc(t, filepath.Join("observability", "alerts.yml"))
	for _, m := range ruleText.FindAllStringSubmatch(text, -1) {
		alerts = append(alerts, alert{m[1], strings.Join(strings.Fields(m[2]+m[3]), " ")})
	}
	if n := strings.Count(text, "- alert: "); len(alerts) != n || n < 10 {
		t.Fatalf("%d rules were found", len(alerts))
	}
	return alerts
}

// dashboardQueries returns the queries of the dashboard, of its panels and of its annotations.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Annotations struct{ List []struct{ Expr string } }
		Panels      []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(testkit.ReadDoc(t, filepath.Join("observability", "dashboard.json"))), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, a := range dashboard.Annotations.List {
		queries = append(queries, a.Expr)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 && p.Type != "row" {
			t.Errorf("the panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	if len(queries) < 20 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	return queries
}

// Every alert has an explanation in the README and a test in alerts_test.yml.
func TestAlertsAreExplainedAndTested(t *testing.T) {
	explained, tested := testkit.ReadDoc(t, filepath.Join("observability", "README.md")), testkit.ReadDoc(t, filepath.Join("observability", "alerts_test.yml"))
	for _, a := range readAlerts(t) {
		if !strings.Contains(explained, "| `"+a.name+"` |") {
			t.Errorf("docs/observability/README.md does not say what to do about %s", a.name)
		}
		if !strings.Contains(tested, a.name) {
			t.Errorf("alerts_test.yml does not test %s", a.name)
		}
	}
}

// Alert rules and panels use only metrics that docs/operations.md lists. A test in package metrics checks that this list is
// right, so this test does not need promtool.
func TestAlertsAndDashboardNameDocumentedMetrics(t *testing.T) {
	documented := testkit.ReadDoc(t, "operations.md")
	queries := dashboardQueries(t)
	for _, a := range readAlerts(t) {
		queries = append(queries, a.expr)
	}
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, query := range queries {
		for _, name := range regexp.MustCompile(`\bmizan_\w+`).FindAllString(query, -1) {
			if !strings.Contains(documented, "`"+name+"`") && !strings.Contains(documented, "`"+suffix.ReplaceAllString(name, "")+"`") {
				t.Errorf("docs/operations.md has no %s, which this uses: %s", name, query)
			}
		}
	}
}

// sample is one line of the metrics that the server responds with.
type sample struct {
	series string // name and labels of the time series
	value  string
}

var sampleLine = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)$`)

// scrape reads the metrics at an address and adds the labels that Prometheus adds.
func scrape(t *testing.T, address string) (samples []sample) {
	t.Helper()
	for line := range strings.Lines(metricsAt(t, address)) {
		m := sampleLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		labels := `job="mizan",instance="` + address + `"`
		if m[2] != "" {
			labels = m[2] + "," + labels
		}
		samples = append(samples, sample{m[1] + "{" + labels + "}", m[3]})
	}
	return append(samples, sample{`up{job="mizan",instance="` + address + `"}`, "1"})
}

// metricsText returns the server's response at /metrics.
func metricsText(t *testing.T, s *testkit.Server) string {
	t.Helper()
	return metricsAt(t, metricsAddress(t, s))
}

// metricsAt returns the response at /metrics of an address.
func metricsAt(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return string(content)
}

// metricsAddress returns the address of the metrics listener, which it finds in the server's log.
func metricsAddress(t *testing.T, s *testkit.Server) string {
	t.Helper()
	found := regexp.MustCompile(`msg=metrics address=(\S+)`).FindStringSubmatch(s.Stderr())
	if found == nil {
		t.Fatalf("the log doesn't say where metrics are:\n%s", s.Stderr())
	}
	return found[1]
}

// scenarioSteps is the number of samples, a minute apart, that promtool gets for each time series.
const scenarioSteps = 20

// growth returns, in promtool's notation, the values of a time series that grows evenly from before to after.
func growth(before, after string) string {
	from, err := strconv.ParseFloat(before, 64)
	to, err2 := strconv.ParseFloat(after, 64)
	if err != nil || err2 != nil || from == to {
		return fmt.Sprintf("%sx%d", after, scenarioSteps)
	}
	sign, step := "+", (to-from)/scenarioSteps
	if step < 0 {
		sign, step = "-", -step
	}
	decimal := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return decimal(from) + sign + decimal(step) + "x" + strconv.Itoa(scenarioSteps)
}

// TestDashboardShowsARealServer evaluates every query of the dashboard and of the alert rules on the metrics of a real server, and
// of the nodes of a real cluster.
// A query of the dashboard must have a result, so that no panel is empty because of a misspelt label.
func TestDashboardShowsARealServer(t *testing.T) {
	promtool(t)
	s := testkit.Start(t, testkit.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--clock", "manual", "--backup-dir", t.TempDir()}})
	makeFigures(t, s)
	addresses := []string{metricsAddress(t, s)}
	for _, node := range startCluster(t).Nodes {
		addresses = append(addresses, node.MetricsListen)
		testkit.WaitUntil(t, node.Name+" has asked the other nodes", func() bool {
			return strings.Contains(metricsAt(t, node.MetricsListen), "mizan_cluster_node_reachable{")
		})
	}
	scrapeAll := func() (samples []sample) {
		for _, address := range addresses {
			samples = append(samples, scrape(t, address)...)
		}
		return samples
	}
	before := make(map[string]string)
	for _, sample := range scrapeAll() {
		before[sample.series] = sample.value
	}
	testkit.Pay(t, s.Partner(), "after the first scrape")
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	type expectation struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	type query struct {
		Expr     string        `json:"expr"`
		EvalTime string        `json:"eval_time"`
		Expected []expectation `json:"exp_samples"`
	}
	var group struct {
		Interval string   `json:"interval"`
		Series   []series `json:"input_series"`
		Queries  []query  `json:"promql_expr_test"`
	}
	group.Interval = "1m"
	for _, sample := range scrapeAll() {
		earlier, isOld := before[sample.series]
		if !isOld {
			earlier = "0"
		}
		group.Series = append(group.Series, series{sample.series, growth(earlier, sample.value)})
	}
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "5m")
	for _, q := range dashboardQueries(t) {
		q = strings.TrimSuffix(q, "> 0") // an annotation has a result only just after the server's start, so its comparison is left out
		group.Queries = append(group.Queries, query{"count(" + variables.Replace(q) + ") > bool 0", "18m", []expectation{{"{}", 1}}})
	}
	for _, a := range readAlerts(t) {
		// An alert's expression without its comparison must have a result too, which shows that its metrics and labels exist.
		operand, _, _ := strings.Cut(a.expr, " or ")
		operand = regexp.MustCompile(`\s(==|>|<)\s[^"]*$`).ReplaceAllString(operand, "")
		operand = strings.NewReplacer(`, status!="503"`, "", `status=~"5.."`, `status=~"[245].."`, `outcome="unknown"`, `outcome=~".+"`, `status="failed"`, `status=~".+"`).Replace(operand)
		group.Queries = append(group.Queries, query{"count(" + operand + ") > bool 0", "18m", []expectation{{"{}", 1}}})
	}
	file := map[string]any{"evaluation_interval": "1m", "tests": []any{group}}
	content, err := json.Marshal(file) // JSON is a subset of YAML
	if err != nil {
		t.Fatal(err)
	}
	runPromtool(t, "test", "rules", testkit.WriteFile(t, "scraped.json", string(content)))
}

// makeFigures sends requests so that the server has figures for all panels: payments that are charged, declined and refused by a
// limit, and parked notifications.
func makeFigures(t *testing.T, s *testkit.Server) {
	t.Helper()
	admin := s.Admin()
	parkNotifications(t, s)
	answer, err := admin.Post("/api/v1/limits", fmt.Sprintf(
		`{"partner_id":%d,"kind":"per_transaction","currency":"USD","env":"test","max_amount":"500000","scope":"partner"}`, s.Sandbox.PartnerID))
	testkit.WantStatus(t, answer, err, http.StatusCreated)
	for _, body := range []string{paymentOf("4000000000000002", "1000"), paymentOf("4242424242424242", "600000"), paymentOf("4000000000000119", "1000")} {
		answer, err := s.Partner().Post("/api/v1/transactions", body)
		testkit.WantStatus(t, answer, err, http.StatusCreated)
	}
}

// paymentOf returns the body of a request that creates a card payment in the environment test.
func paymentOf(card, amount string) string {
	return `{"params":{"type":"payment","env":"test","currency":"USD","amount":"` + amount + `","returnUrl":"https://shop.example/r","failUrl":"https://shop.example/f",` +
		`"money_storage":{"type":"bank_card","cardnumber":"` + card + `","cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}}`
}

// parkNotifications makes a payment whose notification can't be delivered. It moves the manual clock until the notification is
// parked, which means given up.
func parkNotifications(t *testing.T, s *testkit.Server) {
	t.Helper()
	admin := s.Admin()
	answer, err := admin.Do(http.MethodPatch, fmt.Sprintf("/api/v1/partners/%d", s.Sandbox.PartnerID), `{"notify_url":"http://127.0.0.1:1/closed","secret":"whsec-observability"}`)
	testkit.WantStatus(t, answer, err, http.StatusOK)
	testkit.Pay(t, s.Partner(), "its notification is parked")
	for range 8 { // the six attempts are spread over more than seven hours
		advance(t, s, `{"advance_seconds":22000}`)
	}
}

// The metrics contain the number and the age of parked notifications, until they are replayed.
func TestParkedNotificationsAreInTheMetrics(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--clock", "manual"}})
	if text := metricsText(t, s); !strings.Contains(text, `mizan_deliveries{receivers="merchants",state="parked"} 0`) {
		t.Errorf("before: %s", text)
	}
	parkNotifications(t, s)
	parked := regexp.MustCompile(`(?m)^mizan_deliveries\{receivers="merchants",state="parked"\} [1-9]`)
	age := regexp.MustCompile(`(?m)^mizan_deliveries_oldest_seconds\{receivers="merchants",state="parked"\} (\S+)$`)
	text := ""
	testkit.WaitUntil(t, "the parked notification is in the metrics", func() bool {
		text = metricsText(t, s)
		return parked.MatchString(text)
	})
	found := age.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no age in %s", text)
	}
	if seconds, err := strconv.ParseFloat(found[1], 64); err != nil || seconds < 7*3600 {
		t.Errorf("the age is %s", found[1])
	}
}
