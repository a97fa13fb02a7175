package api_test

import (
	"testing"

	ledgerapi "mizan/api/ledger"
	"mizan/api/web"
)

func TestLastCheckIsShownWithoutItsFindings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.auditor().get(ledgerPath+"/check").want(200, `{"data":null}`)
	f.lastCheck = &ledgerapi.CheckResult{At: web.Instant(1_788_430_530_123_456), Rules: []ledgerapi.CheckRule{{Number: 1, Outcome: "ok", Name: "one"}, {Number: 2, Outcome: "FAIL", Name: "two"}}}
	f.auditor().get(ledgerPath+"/check").want(200,
		`{"data":{"at":"2026-09-03T10:15:30.123456+00:00","rules":[{"rule":1,"outcome":"ok","name":"one"},{"rule":2,"outcome":"FAIL","name":"two"}]}}`)
	f.auditor().get(ledgerPath+"/check?x=1").want(422, "")
}
