package api_test

import "testing"

// The sandbox's sessions have no user. They can be ended without a login before, in the process
// that has created them and in a later one.
func TestSandboxSessionsCanBeEndedBeforeAnyLogin(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	second := h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org)
	out := func(what string, c caller) {
		t.Helper()
		if a := c.do("DELETE", sessions+"/current", ""); a.status != 204 {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
		c.do("DELETE", sessions+"/current", "").want(401, unauthorized)
	}
	out("the administrator's", h.session())
	out("the auditor's", h.auditor())
	h.restart()
	h.session().get(ledgerPath+"/head").want(401, unauthorized)
	h.auditor().get(ledgerPath+"/head").want(401, unauthorized)
	second.get(ledgerPath+"/head").want(200, "")
	out("another organization's, after a restart", second)
}
