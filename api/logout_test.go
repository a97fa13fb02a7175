package api_test

import "testing"

// The sandbox's sessions have no user. A request can end such a session even if nobody has logged in before, both in the process
// that has created the session and after a restart.
func TestSandboxSessionsCanBeEndedBeforeAnyLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)
	logOut := func(what string, c caller) {
		t.Helper()
		if r := c.do("DELETE", sessions+"/current", ""); r.status != 204 {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
		c.do("DELETE", sessions+"/current", "").want(401, unauthorized)
	}
	logOut("the administrator's", f.session())
	logOut("the auditor's", f.auditor())
	f.restart()
	f.session().get(ledgerPath+"/head").want(401, unauthorized)
	f.auditor().get(ledgerPath+"/head").want(401, unauthorized)
	second.get(ledgerPath+"/head").want(200, "")
	logOut("another organization's, after a restart", second)
}
