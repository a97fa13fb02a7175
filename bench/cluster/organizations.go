package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"mizan/bench/server"
)

// organization is one whose partner pays.
type organization struct {
	id, key string
	shard   int // 0: the server has no shards
	leader  int // index of the node that serves the organization
}

// createOrganizations creates organizations with a partner, a terminal and an API key each. A cluster places each new one in the
// shard with the fewest, so they are spread over all shards.
func (s *system) createOrganizations(ctx context.Context, n int) (list []organization, err error) {
	for i := range n {
		o, err := s.createOrganization(ctx, i)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, s.findLeaders(ctx, list)
}

func (s *system) createOrganization(ctx context.Context, i int) (o organization, err error) {
	var created struct{ Data struct{ ID string } }
	headers := map[string]string{"Authorization": "Bearer " + s.sandbox.AdminToken}
	post := func(path string, body, into any) {
		if err == nil {
			err = s.request(ctx, http.MethodPost, s.Nodes[0].BaseURL, "/api/v1"+path, body, headers, into)
		}
	}
	name := "bench-" + strconv.Itoa(i)
	post("/organizations", map[string]any{"name": name, "type": "merchant"}, &created)
	headers["X-Organization-Id"] = created.Data.ID
	var partner struct{ ID int64 }
	post("/partners", map[string]any{"name": name, "login": name, "pass": "nine-Lions-paint-" + name}, &partner)
	post("/terminal", map[string]any{"name": name, "provider": "simulator", "type": "payment", "env": "prod", "partner_id": partner.ID,
		"provider_params": map[string]any{"currencies": []string{"USD"}}}, nil)
	var key struct{ Key string }
	post("/api_keys", map[string]any{"partner_id": partner.ID, "name": name}, &key)
	return organization{id: created.Data.ID, key: key.Key}, err
}

// findLeaders asks which node serves each organization.
func (s *system) findLeaders(ctx context.Context, list []organization) error {
	for i := range list {
		o := &list[i]
		header, err := s.exchange(ctx, http.MethodGet, s.Nodes[0].BaseURL, "/api/v1/transactions?limit=1", nil, map[string]string{"X-Api-Key": o.key, "X-Organization-Id": o.id}, nil)
		if err != nil {
			return err
		}
		if len(s.Nodes) == 1 {
			continue
		}
		if o.shard, err = strconv.Atoi(header.Get("X-Mizan-Shard")); err != nil {
			return fmt.Errorf("bench: an answer names no shard: %w", err)
		}
		o.leader = -1
		for k := range s.Nodes {
			if s.Nodes[k].Name == header.Get("X-Mizan-Node") {
				o.leader = k
			}
		}
		if o.leader < 0 {
			return fmt.Errorf("bench: an answer comes from an unknown node %q", header.Get("X-Mizan-Node"))
		}
	}
	return nil
}

// awaitBalance waits until no node leads two shards more than another one, because the nodes then move no lead.
func (s *system) awaitBalance(ctx context.Context) error {
	if len(s.Nodes) == 1 {
		return nil
	}
	return s.await(ctx, func() error {
		var answer struct {
			Data struct{ Shards []struct{ Leader string } }
		}
		if err := s.request(ctx, http.MethodGet, s.Nodes[0].BaseURL, "/api/v1/cluster", nil, map[string]string{"Authorization": "Bearer " + s.sandbox.AdminToken}, &answer); err != nil {
			return err
		}
		counts := make(map[string]int)
		for _, shard := range answer.Data.Shards {
			counts[shard.Leader]++
		}
		fewest, most := len(answer.Data.Shards), 0
		for i := range s.Nodes {
			fewest, most = min(fewest, counts[s.Nodes[i].Name]), max(most, counts[s.Nodes[i].Name])
		}
		if counts[""] > 0 || most-fewest > 1 {
			return fmt.Errorf("the leads are not balanced: %v", counts)
		}
		return nil
	})
}

// charged returns the number of an organization's charged payments.
func (s *system) charged(ctx context.Context, o *organization) (n uint64, err error) {
	var answer struct {
		Data []struct {
			Status string
			Count  uint64
		}
	}
	err = s.request(ctx, http.MethodGet, s.Nodes[o.leader].BaseURL, "/api/v1/transactions/aggregate?env=prod&group_by=status", nil,
		map[string]string{"X-Api-Key": o.key, "X-Organization-Id": o.id}, &answer)
	for _, row := range answer.Data {
		if row.Status == "charged" {
			n += row.Count
		}
	}
	return n, err
}

// of returns the sandbox's values for an organization.
func (o *organization) of(s *system, node int) *server.Sandbox {
	sandbox := s.sandbox
	sandbox.OrganizationID, sandbox.APIKey, sandbox.BaseURL = o.id, o.key, s.Nodes[node].BaseURL
	return &sandbox
}
