package alerts

import (
	"encoding/binary"
	"fmt"
	"time"

	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/posting"
)

// MaxDays is the maximum number of missed days that are summarized after a downtime.
const MaxDays = 7

// nextSummaryAt returns the end of the next day to summarize. If no day is stored yet, it returns
// an instant in the past, so that summarizeDays runs at once.
func (m *Monitor) nextSummaryAt() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dayStored {
		return m.nextDay.Time(), true
	}
	return (m.nextDay + 1).Time(), true
}

// summarizeDays summarizes all days that are over. If there are no recipients, it only stores that the
// days are summarized, so that a recipient who is added later gets no summaries of earlier days.
func (m *Monitor) summarizeDays(now time.Time) error {
	m.mu.Lock()
	day, today := m.nextDay, ledger.DateOf(now)
	m.mu.Unlock()
	hasRecipients, err := m.hasRecipients()
	if err != nil {
		return err
	}
	switch {
	case !hasRecipients:
		day = today
	case today-day > MaxDays:
		m.rt.Log.Warn("missed days are too old and are not summarized", "from", day.String(), "before", (today - MaxDays).String())
		day = today - MaxDays
	}
	// The journal makes Changes durable in order. When this one is durable, so is everything that was
	// booked on the days below.
	if err := m.storeLastDay(day - 1); err != nil {
		return err
	}
	for m.setSummarized(day - 1); day < today; day++ {
		err := m.directory.AlertTerminals(func(org ledger.ID, terminals []*directory.Terminal) error {
			return m.summarizeOrganization(org, terminals, day, ledger.MicrosOf(now))
		})
		if err == nil {
			err = m.storeLastDay(day)
		}
		if err != nil {
			return fmt.Errorf("summaries of %s: %w", day, err)
		}
		m.setSummarized(day)
	}
	return nil
}

func (m *Monitor) setSummarized(day ledger.Date) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextDay, m.dayStored = day+1, true
}

// hasRecipients tells whether any terminal lists recipients who can be reached.
func (m *Monitor) hasRecipients() (found bool, err error) {
	err = m.directory.AlertTerminals(func(_ ledger.ID, terminals []*directory.Terminal) error {
		for _, t := range terminals {
			found = found || m.canReach(&t.Notification)
		}
		return nil
	})
	return found, err
}

// summarizeOrganization posts the summaries of a day for an organization's terminals.
func (m *Monitor) summarizeOrganization(org ledger.ID, terminals []*directory.Terminal, day ledger.Date, at ledger.Micros) error {
	for len(terminals) > 0 {
		n := 1
		for n < len(terminals) && terminals[n].Partner == terminals[0].Partner {
			n++
		}
		if err := m.summarizePartner(org, terminals[:n], day, at); err != nil {
			return err
		}
		terminals = terminals[n:]
	}
	return nil
}

// summarizePartner posts the summaries of one partner's terminals. It skips terminals that were
// created after the day.
func (m *Monitor) summarizePartner(org ledger.ID, terminals []*directory.Terminal, day ledger.Date, at ledger.Micros) error {
	summaries := make(map[ledger.ID]*alerts.Summary)
	for _, t := range terminals {
		if m.canReach(&t.Notification) && t.CreatedAt < ledger.MicrosOf((day+1).Time()) {
			summaries[t.ID] = new(alerts.Summary)
		}
	}
	if len(summaries) == 0 {
		return nil
	}
	partner := terminals[0].Partner
	if err := m.addPartnerDay(org, partner, terminals, day, summaries); err != nil {
		return err
	}
	for _, t := range terminals {
		summary := summaries[t.ID]
		if summary == nil || summary.IsEmpty() && !m.isOperational(org, t) {
			continue
		}
		body := summary.Message(terminalOf(t), day, at).Append(nil)
		if err := m.notifier.PostBulletin(org, t.ID, body, fmt.Sprintf("summary/%s/%s", t.ID, day)); err != nil {
			return err
		}
	}
	return nil
}

// isOperational tells whether transactions can be started at a terminal. If a terminal had no
// transactions on a day, a summary is sent only if the terminal is operational.
func (m *Monitor) isOperational(org ledger.ID, t *directory.Terminal) bool {
	organization, orgFound := m.directory.Organization(org)
	partner, partnerFound := m.directory.Partner(org, t.Partner)
	return orgFound && partnerFound && organization.Active() && partner.Active && t.Active && t.Type != directory.MerchantTerminal
}

// lastDayKey is the key of the row that stores the last summarized day; the row belongs to the platform
// organization. The row's value is the day's number as four bytes, big-endian.
var lastDayKey = []byte("summaries")

// loadLastDay reads the last summarized day.
func (m *Monitor) loadLastDay() (day ledger.Date, found bool, err error) {
	view := m.rt.Journal.View()
	defer view.Close()
	row, found, err := view.KV(ledger.ID{}, lastDayKey)
	if err != nil || !found {
		return 0, false, err
	}
	if len(row) != 4 {
		return 0, false, fmt.Errorf("the row of the last summarized day has %d bytes", len(row))
	}
	return ledger.Date(binary.BigEndian.Uint32(row)), true, nil
}

// storeLastDay makes the last summarized day durable.
func (m *Monitor) storeLastDay(day ledger.Date) error {
	value := binary.BigEndian.AppendUint32(nil, uint32(day))
	return m.rt.Journal.SubmitAndWait(&posting.Change{KVs: []posting.KV{{Key: lastDayKey, Value: value}}}).Err
}
