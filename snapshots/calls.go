package snapshots

import (
	"bufio"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// simulator is the route whose provider keeps a log in the data directory.
const (
	simulator    = "simulator"
	simulatorLog = "simulator.log"
)

// call is a line of the simulator's log.
type call struct {
	Reference ledger.ID `json:"reference"`
	Terminal  ledger.ID `json:"terminal"`
	Org       ledger.ID `json:"org"`
	Operation string    `json:"operation"`
	Outcome   string    `json:"outcome"`
}

// checkCalls compares the provider's own log with the intents.
func (c *checker) checkCalls(data string) error {
	if data == "" {
		c.report.skip(ruleCalls)
		return nil
	}
	return c.reading(ruleCalls, func() error {
		if err := c.readCalls(filepath.Join(data, simulatorLog)); err != nil {
			return err
		}
		for _, o := range c.organizations {
			c.compareCalls(o)
		}
		return nil
	})
}

// readCalls notes every call in its transaction's history. The last line may be
// cut short: its call was never answered, and the simulator forgets it.
func (c *checker) readCalls(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := uint64(1); ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var made call
		if err := json.Unmarshal(line, &made); err != nil {
			c.report.breach(ruleCalls, "call %d of the simulator can't be read", n)
			continue
		}
		c.report.count(ruleCalls, 1)
		c.call(&made)
		if err := c.alive(); err != nil {
			return err
		}
	}
}

func (c *checker) call(made *call) {
	source := ledger.Source{Kind: ledger.Transaction, ID: made.Reference}
	var h *history
	if o := c.organizations[made.Org]; o != nil {
		h = o.histories.find(source)
	}
	if h == nil || h.intents == 0 {
		c.report.breach(ruleCalls, "organization %v: %s was sent to the provider without an intent", made.Org, named(source))
		return
	}
	if made.Operation != payment.Payment.String() && made.Operation != payment.Payout.String() {
		return // it goes with a call that moved money
	}
	terminal := fnv.New32a()
	_, _ = terminal.Write(made.Terminal[:]) // it never fails
	if h.calls > 0 && h.terminal == terminal.Sum32() {
		c.report.breach(ruleCalls, "organization %v: %s was sent twice to one terminal", made.Org, named(source))
	}
	h.terminal = terminal.Sum32()
	h.calls = increment(h.calls)
	if made.Outcome != "refused" {
		h.firm = increment(h.firm)
	}
	if made.Outcome == "charged" {
		h.marks |= charged
	}
}

func increment(n uint8) uint8 { return min(n, math.MaxUint8-1) + 1 }

// compareCalls checks what is known of an organization's calls when all are read.
func (c *checker) compareCalls(o *organization) {
	states := o.histories.statesOf(ledger.Transaction)
	for source, at := range o.histories.index {
		h := o.histories.shelf.at(at)
		if source.Kind != ledger.Transaction {
			continue
		}
		moved := states.was(h, string(payment.Charged))
		if h.calls > h.intents || h.firm > 1 {
			c.report.breach(ruleCalls, "organization %v: %s was sent %d times, %d of them not refused, on %d intents", o.id, named(source), h.calls, h.firm, h.intents)
		}
		if h.marks&simulated != 0 && moved && h.firm == 0 {
			c.report.breach(ruleCalls, "organization %v: %s is charged without a call", o.id, named(source))
		}
		if last := payment.Status(states.name(h)); h.marks&charged != 0 && !moved && last.Final() {
			c.report.breach(ruleCalls, "organization %v: %s is %s, and the provider has charged it", o.id, named(source), last)
		}
	}
}
