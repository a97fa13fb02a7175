package payment

import (
	"time"

	"github.com/sony/gobreaker/v2"

	"mizan/ledger"
	"mizan/ledger/payment/codec"
	"mizan/posting"
)

// This file stores open circuits, so that a restart, or the next leader of a shard, does not send charges to a provider that is
// known to be down.

// onStateChange stores the new state on another goroutine, because the circuit's lock is held. While a circuit is half open, its
// row stays.
func (s *circuits) onStateChange(c *circuit, terminal ledger.ID, to gobreaker.State) {
	switch to {
	case gobreaker.StateOpen:
		c.openedAt.Store(time.Now().UnixMicro())
	case gobreaker.StateClosed:
		c.openedAt.Store(0)
	default:
		return
	}
	if err := s.rt.Go(func() { s.store(c, terminal) }); err != nil {
		s.logNotStored(terminal, err)
	}
}

// store stores the circuit's latest state, if it is not stored yet.
func (s *circuits) store(c *circuit, terminal ledger.ID) {
	s.storing.Lock()
	defer s.storing.Unlock()
	openedAt := c.openedAt.Load()
	if openedAt == c.storedAt {
		return
	}
	row := codec.OpenCircuit{Terminal: terminal, OpenedAt: ledger.Micros(openedAt), Provider: c.provider}
	kv := posting.KV{Key: row.Key()}
	if openedAt != 0 {
		kv.Value = row.Value()
	}
	if err := s.rt.Journal.SubmitAndWait(&posting.Change{KVs: []posting.KV{kv}}).Err; err != nil {
		s.logNotStored(terminal, err)
		return
	}
	c.storedAt = openedAt
}

func (s *circuits) logNotStored(terminal ledger.ID, err error) {
	s.log.Warn("the state of a terminal's circuit is not stored", "terminal", terminal.String(), "error", err)
}

// restore opens the circuits whose rows say that they opened a short time ago. They stay open for the whole OpenTime. A provider
// with an older row was not called for long, so nothing is known about it.
func (s *circuits) restore() {
	view := s.rt.Journal.View()
	defer view.Close()
	err := view.KVsAscending(ledger.ID{}, []byte(codec.OpenCircuits), nil, func(key, value []byte) (bool, error) {
		row, err := codec.ReadOpenCircuit(key, value)
		if err != nil {
			return false, err
		}
		c := s.newCircuit(row.Terminal, row.Provider)
		c.storedAt = int64(row.OpenedAt)
		s.byTerminal.Store(row.Terminal, c)
		if time.Since(row.OpenedAt.Time()) <= 2*s.options.OpenTime {
			c.trip(s.options.Failures)
		}
		return true, nil
	})
	if err != nil {
		s.log.Error("the rows of the terminals' circuits can't be read; circuits without a row that was read are closed", "error", err)
	}
}

// trip opens a new circuit.
func (c *circuit) trip(failures uint32) {
	for range failures {
		if done, err := c.Allow(); err == nil {
			done(errDown)
		}
	}
}
