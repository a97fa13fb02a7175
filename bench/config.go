package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	directoryactor "mizan/actors/directory"
	"mizan/ledger/directory"
	"mizan/posting"
)

// PaymentsConfig is the command line of `mizan bench payments`.
type PaymentsConfig struct {
	Workload     string        `name:"workload" enum:"payments,read,list,link" default:"payments" help:"payments: creates payments, each with a txid of its own, and waits until they are charged; read: random GETs of payments made before in this run (--preload); list: GETs of one page of the transaction list; link: GETs of a payment link's page, while other loads may run."`
	Query        string        `name:"query" default:"limit=100" help:"Query of the list workload."`
	Connections  int           `name:"connections" default:"256" help:"Connections, each with one request at a time."`
	Duration     time.Duration `name:"duration" default:"30s" help:"How long to measure."`
	Rate         float64       `name:"rate" default:"0" help:"Requests a second over all connections; a latency counts from the time at which the request was due. 0: each connection sends the next request after a response."`
	Preload      int           `name:"preload" default:"0" help:"Payments to make before measuring (read: 10000 if not given)."`
	Target       string        `name:"target" placeholder:"URL" help:"A running sandbox server to load; --data names its directory, for sandbox.json. Default: start one."`
	TLS          string        `name:"tls" enum:"off,auto" default:"off" help:"Transport of the server that is started."`
	Data         string        `name:"data" placeholder:"DIR" help:"Data directory; kept. Default: a new one, removed at the end."`
	Timeout      time.Duration `name:"timeout" default:"30s" help:"Time after which a response counts as lost."`
	Report       string        `name:"report" placeholder:"FILE" help:"File for the report as JSON."`
	Partners     int           `name:"partners" default:"0" help:"Number of partners that make the payments in turn; they are created in the data directory first. 0: only the sandbox's own partner pays."`
	Terminals    int           `name:"terminals" default:"3" help:"Terminals of each of --partners."`
	Keys         int           `name:"keys" default:"0" help:"Number of API keys of all --partners together, which are used in turn. 0: one for each partner."`
	Limits       bool          `name:"limits" help:"Create limits for each partner that are never reached: daily volume, monthly volume, and velocity in a minute."`
	Overload     bool          `name:"overload" help:"Measure the capacity over 256 connections. Then offer 1, 2 and 5 times as many payments a second over --connections, even if responses are late, and measure how many are charged. Each measurement takes --duration."`
	AgainstFloor bool          `name:"against-floor" help:"Measure in turn, in short rounds, the payments, a bare echo of requests of the same size over as many connections, and lone durable writes of 4 KiB to the data directory's disk, each for --duration in all; print the ratios."`
	Console      int           `name:"console" default:"0" help:"Number of simulated users who click through the console during the run; the response times of its pages are printed."`
	Notify       bool          `name:"notify" help:"Send signed notifications of all payments to a receiver on this machine; the run fails if one does not arrive."`
}

// wantedMerchants returns how many merchants, terminals and keys the flags ask for.
func (c *PaymentsConfig) wantedMerchants() merchantCounts {
	counts := merchantCounts{partners: c.Partners, terminals: c.Terminals, keys: c.Keys}
	if counts.keys == 0 {
		counts.keys = counts.partners
	}
	return counts
}

// check returns an error if a server does not accept these numbers of merchants, terminals or keys.
func (c merchantCounts) check() error {
	keysPerPartner := 0
	if c.partners > 0 {
		keysPerPartner = (c.keys + c.partners - 1) / c.partners
	}
	switch {
	case c.partners < 0 || c.partners > maxPartners:
		return fmt.Errorf("--partners has to be 0 to %d", maxPartners)
	case c.partners == 0:
		return nil
	case c.terminals < 1 || c.terminals > directory.MaxTerminals:
		return fmt.Errorf("--terminals has to be 1 to %d", directory.MaxTerminals)
	case c.keys < c.partners:
		return fmt.Errorf("--keys has to be at least one for each of --partners")
	case c.terminals+keysPerPartner > directoryactor.MaxMerchantRecords:
		return fmt.Errorf("--terminals and --keys have to be at most %d for each of --partners", directoryactor.MaxMerchantRecords)
	}
	return nil
}

// LedgerConfig is the command line of `mizan bench ledger`.
type LedgerConfig struct {
	Accounts  int           `name:"accounts" default:"10000" help:"Number of accounts between which the transfers move money."`
	Batch     int           `name:"batch" default:"8192" help:"Transfers submitted at a time; up to twice as many are under way."`
	HotShare  float64       `name:"hot" default:"0" help:"Share of the transfers that touch one hot account, 0 to 1."`
	Transfers int           `name:"transfers" default:"0" help:"Number of transfers; 0: as many as fit into --duration."`
	Duration  time.Duration `name:"duration" default:"10s" help:"Duration of the run, unless --transfers is given."`
	Data      string        `name:"data" placeholder:"DIR" help:"Data directory; kept. Default: a new one, removed at the end."`
	Seed      uint64        `name:"seed" default:"0" help:"Seed of the random transfers; 0: a random one."`
	Report    string        `name:"report" placeholder:"FILE" help:"File for the report as JSON."`
}

// Bounds of the flags. If --preload is not given, the read workload uses defaultPreload.
const (
	maxConnections = 10_000
	maxPeople      = 1_000
	maxAccounts    = 10_000_000
	maxPartners    = 1_000_000
	maxPreload     = 100_000_000
	defaultPreload = 10_000
)

// The values of --workload.
const (
	workloadPayments = "payments"
	workloadRead     = "read"
	workloadList     = "list"
	workloadLink     = "link"
)

var workloads = []string{workloadPayments, workloadRead, workloadList, workloadLink}

// Validate returns an error for flags that are out of bounds or contradict each other. kong, which parses the command line, calls it.
func (c *PaymentsConfig) Validate() error {
	switch {
	case !slices.Contains(workloads, c.Workload):
		return fmt.Errorf("--workload %q is none of %s", c.Workload, strings.Join(workloads, ", "))
	case strings.ContainsAny(c.Query, " \r\n"):
		return fmt.Errorf("--query has to be encoded")
	case c.Connections < 1 || c.Connections > maxConnections:
		return fmt.Errorf("--connections has to be 1 to %d", maxConnections)
	case c.Duration <= 0, c.Timeout <= 0:
		return fmt.Errorf("--duration and --timeout have to be positive")
	case c.Overload && (c.Workload != workloadPayments || c.Rate != 0):
		return fmt.Errorf("--overload goes with the payments workload and without --rate")
	case c.AgainstFloor && (c.Workload != workloadPayments || c.Rate != 0 || c.Overload):
		return fmt.Errorf("--against-floor goes with the payments workload, and without --rate and --overload")
	case c.AgainstFloor && (c.TLS != "off" || strings.HasPrefix(c.Target, "https:")):
		return fmt.Errorf("--against-floor goes without TLS, as the echo has none")
	case c.Console < 0 || c.Console > maxPeople:
		return fmt.Errorf("--console has to be 0 to %d", maxPeople)
	case c.Rate < 0:
		return fmt.Errorf("--rate has to be 0 or more")
	case c.Preload < 0 || c.Preload > maxPreload:
		return fmt.Errorf("--preload has to be 0 to %d", maxPreload)
	case c.Target != "" && c.Data == "":
		return fmt.Errorf("--target needs --data, the directory of that server, for its sandbox.json")
	case c.Target == "" && c.TLS != "off" && c.TLS != "auto":
		return fmt.Errorf("--tls %q is neither off nor auto", c.TLS)
	case c.Partners == 0 && c.Keys != 0:
		return fmt.Errorf("--keys needs --partners")
	case c.Partners != 0 && c.Workload != workloadPayments:
		return fmt.Errorf("--partners goes with the payments workload only")
	}
	if c.Notify && c.Workload != workloadPayments {
		return errNotifyWorkload
	}
	return c.wantedMerchants().check()
}

// Validate returns an error for flags that are out of bounds or contradict each other. kong, which parses the command line, calls it.
func (c *LedgerConfig) Validate() error {
	switch {
	case c.Accounts < 2 || c.Accounts > maxAccounts:
		return fmt.Errorf("--accounts has to be 2 to %d", maxAccounts)
	case c.Batch < 1 || c.Batch > posting.MaxQueue/2:
		return fmt.Errorf("--batch has to be 1 to %d: twice as many wait for the writer", posting.MaxQueue/2)
	case !(c.HotShare >= 0 && c.HotShare <= 1):
		return fmt.Errorf("--hot has to be 0 to 1")
	case c.Transfers < 0, c.Transfers == 0 && c.Duration <= 0:
		return fmt.Errorf("--transfers or --duration has to be positive")
	}
	return nil
}
