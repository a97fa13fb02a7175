package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"mizan/bench/server"
)

// usage is what a process has used so far.
type usage struct {
	cpu     time.Duration
	written uint64 // bytes that the process has caused to be written to the disk, by /proc/PID/io
	syncs   uint64 // syncs of one server's log, or of a node's Raft log, by the metrics
	leaders uint64 // how often the node has learned of a new leader of a shard
	groups  uint64 // groups in the node's stores
}

func (u usage) since(before usage) usage {
	return usage{u.cpu - before.cpu, u.written - before.written, u.syncs - before.syncs, u.leaders - before.leaders, u.groups - before.groups}
}

// usageOfProcess reads what a process without metrics has used.
func usageOfProcess(pid int) (u usage, err error) {
	used, err := server.UsageOf(pid)
	if err != nil {
		return u, err
	}
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return u, err
	}
	const name = "\nwrite_bytes: "
	_, after, isFound := strings.Cut(string(content), name)
	if !isFound {
		return u, errors.New("bench: /proc/PID/io has no write_bytes")
	}
	number, _, _ := strings.Cut(after, "\n")
	u.cpu = used.CPU
	u.written, err = strconv.ParseUint(number, 10, 64)
	return u, err
}

// usageOf reads what a node has used.
func (s *system) usageOf(ctx context.Context, n *node) (u usage, err error) {
	if u, err = usageOfProcess(n.PID); err != nil {
		return u, err
	}
	sums, err := s.metrics(ctx, n)
	if err != nil {
		return u, err
	}
	u.leaders = uint64(sums["mizan_replica_leaders_total"])
	u.groups, u.syncs = uint64(sums["mizan_replica_last_group"]), uint64(sums["mizan_replica_log_syncs_total"])
	if u.groups == 0 { // one server, whose store has no replica
		u.groups = uint64(sums["mizan_syncs_total"])
		u.syncs = u.groups
	}
	return u, nil
}

// metrics returns the metrics of a node by name; series that differ in labels are added up.
func (s *system) metrics(ctx context.Context, n *node) (sums map[string]float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("bench: the metrics of %s: status %d", n.Name, response.StatusCode)
	}
	sums = make(map[string]float64)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line[:space], "{")
		if value, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			sums[name] += value
		}
	}
	return sums, lines.Err()
}
