package cluster

import (
	"fmt"
	"time"
)

// Config is the command line of `mizan bench cluster`.
type Config struct {
	Duration      time.Duration `name:"duration" default:"10s" help:"How long to measure each arrangement."`
	Connections   int           `name:"connections" default:"256" help:"Connections in all, each with one request at a time."`
	Organizations int           `name:"organizations" default:"8" help:"Organizations that pay, spread over all shards."`
	CPUs          float64       `name:"cpus" default:"0" placeholder:"CORES" help:"Also measure clusters whose nodes may each use only this many cores, such as 0.4, and compare them with the model. Needs the right to make cgroups."`
	Timeout       time.Duration `name:"timeout" default:"30s" help:"Time after which a response counts as lost."`
	Data          string        `name:"data" placeholder:"DIR" help:"Directory for the data; it must be empty, and is kept. Default: a new one, removed at the end."`
	JSON          bool          `name:"json" help:"Print the report as JSON."`
}

// Bounds of the flags.
const (
	maxConnections   = 10_000
	maxOrganizations = 64
	minCPUs, maxCPUs = 0.05, 64
)

// Validate returns an error for flags that are out of bounds. kong, which parses the command line, calls it.
func (c *Config) Validate() error {
	switch {
	case c.Duration <= 0, c.Timeout <= 0:
		return fmt.Errorf("--duration and --timeout have to be positive")
	case c.Organizations < shardsOfMany || c.Organizations > maxOrganizations:
		return fmt.Errorf("--organizations has to be %d to %d", shardsOfMany, maxOrganizations)
	case c.Connections < c.Organizations || c.Connections > maxConnections:
		return fmt.Errorf("--connections has to be at least one for each of --organizations, and at most %d", maxConnections)
	case c.CPUs != 0 && !(c.CPUs >= minCPUs && c.CPUs <= maxCPUs):
		return fmt.Errorf("--cpus has to be %g to %d", minCPUs, maxCPUs)
	}
	return nil
}
