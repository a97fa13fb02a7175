package api_test

import (
	"errors"
	"strings"
	"testing"

	"mizan/api"
	"mizan/internal/testkit"
	"mizan/ledger/directory"
)

const (
	clusterPage  = "/console/admin/cluster"
	transferPage = clusterPage + "/transfer"
)

// leader returns the name of the node that leads a shard.
func (c *fixtureCluster) leader(shard int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaders[shard]
}

// A person with the role admin who has entered the administration token sees the nodes and shards, and hands shards over.
func TestConsoleShowsAndChangesTheCluster(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	v := f.signIn(f.first, directory.Admin)
	send := func(path, form string) *response {
		return v.with("content-type", "application/x-www-form-urlencoded").post(path, form)
	}
	send(transferPage, "csrf="+v.csrf+"&shard=2&node=n1").want(303, "")
	if f.cluster.leader(2) != "n3" {
		t.Error("a person without the administration token has handed a shard over")
	}
	send("/console/admin/token", "csrf="+v.csrf+"&token="+string(f.seed.AdminToken)).want(303, "")

	f.cluster.down["n3"] = true
	page := v.get(clusterPage).want(200, "")
	for _, text := range []string{"https://n1.example", "No answer", "no leader", "group 120", "2 behind", `href="` + transferPage + `?shard=1"`} {
		if !strings.Contains(page.body, text) {
			t.Errorf("the page has no %q: %s", text, page.body)
		}
	}
	f.cluster.down["n3"] = false
	if strings.Contains(page.body, "Moves of organizations") {
		t.Error("the page shows moves, but there are none")
	}
	failure := "the other shard <is full>"
	f.cluster.moves = []api.MoveStatus{
		{Organization: f.seed.First.Org.String(), From: 1, To: 2, State: api.MoveCopying, Rows: 1830, StartedAt: "2026-11-30T10:00:00.5Z"},
		{Organization: f.seed.First.Org.String(), From: 1, To: 2, State: api.MoveFailed, StartedAt: "2026-11-30T09:00:00Z", Error: &failure},
	}
	page = v.get(clusterPage).want(200, "")
	for _, text := range []string{"Moves of organizations", "Copying", "1,830", "Failed", "the other shard &lt;is full&gt;"} {
		if !strings.Contains(page.body, text) {
			t.Errorf("the page has no %q: %s", text, page.body)
		}
	}
	for _, query := range []string{"", "?shard=x", "?shard=-1", "?shard=3"} {
		v.get(transferPage+query).want(404, "")
	}
	_, form := v.get(transferPage+"?shard=2").want(200, "").form()
	if form.Get("shard") != "2" {
		t.Errorf("the form has %v", form)
	}
	send(transferPage, "shard=2&node=n1").want(403, "") // the form of another site
	send(transferPage, "csrf="+v.csrf+"&shard=x&node=n1").want(404, "")
	if problem := send(transferPage, "csrf="+v.csrf+"&shard=2&node=n9").want(422, ""); !strings.Contains(problem.body, "node must be the name of a node") {
		t.Errorf("an unknown node: %s", problem.body)
	}
	f.cluster.failure = errors.New("the node is too slow")
	if problem := send(transferPage, "csrf="+v.csrf+"&shard=2&node=n1").want(503, ""); !strings.Contains(problem.body, "n1 has not taken over shard 2") {
		t.Errorf("a transfer that fails: %s", problem.body)
	}
	f.cluster.failure = nil
	if done := send(transferPage, "csrf="+v.csrf+"&shard=2&node=n1").want(303, ""); done.header.Get("location") != clusterPage+"?done" || f.cluster.leader(2) != "n1" {
		t.Errorf("redirected to %s; %s leads shard 2", done.header.Get("location"), f.cluster.leader(2))
	}
	if page := v.get(clusterPage+"?done").want(200, ""); !strings.Contains(page.body, "is being handed over") {
		t.Errorf("no confirmation in %s", page.body)
	}
	send(transferPage, "csrf="+v.csrf+"&shard=1&node=n3").want(303, "") // the organization's own shard, which ends this request first
	testkit.WaitUntil(t, "n3 leads shard 1", func() bool { return f.cluster.leader(1) == "n3" })

	f.signIn(f.first, directory.Auditor).get(clusterPage).want(403, "")
}

// The console of a server that is no node has no page about a cluster.
func TestConsoleOfOneServerHasNoCluster(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t, func(c *api.Config) { c.Front = nil })
	v := f.signIn(f.first, directory.Admin)
	if home := v.get("/console/").want(200, ""); strings.Contains(home.body, clusterPage) {
		t.Error("the menu has the page")
	}
	v.get(clusterPage).want(404, "")
}
