package api_test

import (
	"os/exec"
	"strings"
	"testing"

	"mizan/api/ledger/export"
)

// The scale (number of decimals) of a cryptocurrency depends on its network. Amounts with a missing or unknown
// network are legal, so they are exported, in minor units, and other programs can read them.
func TestMoneyWithUnknownScaleIsExported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, env := range []string{"prod", "test"} {
		for _, network := range []string{"", "foo", "-", "_", "1inch", strings.Repeat("a", 32)} {
			networkField := ""
			if network != "" {
				networkField = `,"network":"` + network + `"`
			}
			f.partner().post(transactions, `{"params":{"env":"`+env+`","type":"payment","amount":"1234567","currency":"USDT"`+networkField+`,`+urls+`,`+goodCard+`}}`).wantStatus("charged", "")
		}
		f.admin().post("/api/v1/partners/1/settlements", `{"direction":"in","amount":"5","currency":"USDT","network":"","env":"`+env+`","reference":"`+env+`"}`).want(201, "")
		for _, name := range export.Names() {
			f.auditor().get(exportPath+"?env="+env+"&format="+name).want(200, "")
		}
		if _, err := exec.LookPath("hledger"); err != nil {
			t.Log("hledger is not installed: it does not read this export")
		} else {
			path := f.writeExport("format=hledger&env="+env, "journal")
			runHledger(t, "-f", path, "check", "--strict")
			wantEqualBalances(t, env, hledgerBalances(t, path), netBalances(t, f.trialBalance("env="+env)))
		}
		if _, err := exec.LookPath("bean-check"); err != nil {
			t.Log("bean-check is not installed: it does not read this export")
		} else if out, err := runProgram("bean-check", f.writeExport("format=beancount&env="+env, "beancount")); err != nil || len(out) > 0 {
			t.Errorf("%s: bean-check: %v\n%.3000s", env, err, out)
		}
	}
}
