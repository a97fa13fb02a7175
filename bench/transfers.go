package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"mizan/bench/generator"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// maxTransfer is the largest amount of a transfer, in minor units.
const maxTransfer = 1_000

var transferAsset = money.Asset{Currency: "USD", Env: money.Prod}

// transfer is one Change (the unit that the journal stores completely or not at all) that debits one account and credits
// another. It also holds the values to which the Change's fields point. A fixed number of transfers is reused, so that the run
// does not allocate transfers.
type transfer struct {
	change   posting.Change
	steps    [1]posting.Step
	events   [1]ledger.Event
	entry    ledger.Entry
	postings [2]ledger.Posting
	sentAt   time.Duration         // since the run began
	done     func(posting.Receipt) // called with the receipt for the Change
}

// transfers makes the random transfers of `mizan bench ledger` and records the totals that every account must have afterwards.
type transfers struct {
	org      ledger.ID
	hotShare float64 // share of the transfers that touch the hot account
	random   *rand.Rand
	paths    []ledger.Path
	debits   []uint64 // for each account, the sum of the submitted transfers that debit it
	credits  []uint64 // for each account, the sum of the submitted transfers that credit it
	began    time.Time
	pool     []transfer

	mu       sync.Mutex
	idleCond sync.Cond
	idle     []*transfer // guarded by mu
	figures  *generator.Figures
	firstErr error // first error of a receipt
}

func newTransfers(cfg *LedgerConfig, seed uint64) *transfers {
	t := &transfers{
		hotShare: cfg.HotShare, random: rand.New(rand.NewPCG(seed, seed)),
		debits: make([]uint64, cfg.Accounts), credits: make([]uint64, cfg.Accounts),
		paths: make([]ledger.Path, cfg.Accounts), figures: generator.NewFigures(),
		pool: make([]transfer, 2*cfg.Batch),
	}
	t.idleCond.L = &t.mu
	t.org = t.newID()
	for i := range t.paths {
		t.paths[i] = ledger.Path("L:bench:" + strconv.Itoa(i))
	}
	for i := range t.pool {
		x := &t.pool[i]
		x.done = func(r posting.Receipt) { t.onReceipt(x, r) }
		t.idle = append(t.idle, x)
	}
	return t
}

// newID returns a UUID v4 from the seeded random generator, which is fast and gives the same ids for the same seed.
func (t *transfers) newID() (id ledger.ID) {
	high, low := t.random.Uint64(), t.random.Uint64()
	for i := range 8 {
		id[i], id[8+i] = byte(high>>(8*i)), byte(low>>(8*i))
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// fill makes x a new random transfer.
func (t *transfers) fill(x *transfer) {
	from, to := t.chooseAccounts()
	amount := 1 + t.random.Uint64N(maxTransfer)
	t.debits[from] += amount
	t.credits[to] += amount
	posted := money.FromUint64(amount)
	x.postings = [2]ledger.Posting{
		{Account: t.paths[from], Asset: transferAsset, Side: ledger.Debit, Amount: posted},
		{Account: t.paths[to], Asset: transferAsset, Side: ledger.Credit, Amount: posted},
	}
	x.entry = ledger.Entry{Phase: ledger.Posted, Postings: x.postings[:]}
	x.events[0] = ledger.Event{Name: "transfer", To: "posted", Entry: &x.entry}
	x.steps[0] = posting.Step{Org: t.org, Source: ledger.Source{Kind: ledger.Transfer, ID: t.newID()}, Events: x.events[:]}
	x.change = posting.Change{Author: ledger.BySystem.Author(), Steps: x.steps[:]}
}

// chooseAccounts chooses the debited and the credited account. Account 0 is the hot account. A fraction hotShare of the
// transfers use the hot account. If there is only one other account, all transfers use the hot account.
func (t *transfers) chooseAccounts() (from, to int) {
	otherAccounts := len(t.paths) - 1
	from = 1 + t.random.IntN(otherAccounts)
	if otherAccounts == 1 || (t.hotShare > 0 && t.random.Float64() < t.hotShare) {
		if t.random.Uint64()&1 == 0 {
			return 0, from
		}
		return from, 0
	}
	to = 1 + t.random.IntN(otherAccounts-1)
	if to >= from {
		to++
	}
	return from, to
}

// onReceipt counts a successful transfer, or keeps the first error. Then it makes the transfer idle (free for reuse). The
// journal's writer calls onReceipt, so it must be quick.
func (t *transfers) onReceipt(x *transfer, r posting.Receipt) {
	now := time.Since(t.began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Err != nil {
		if t.firstErr == nil {
			t.firstErr = r.Err
		}
	} else {
		t.figures.CountGood(x.sentAt, x.sentAt, now)
	}
	t.idle = append(t.idle, x)
	if len(t.idle) == len(t.pool)/2 || len(t.idle) == len(t.pool) {
		t.idleCond.Signal()
	}
}

// takeIdle waits until at least half of the transfers are idle, or all of them if waitForAll is true. It returns the idle
// transfers in a slice that reuses the memory of dst. It also returns the first error of a transfer.
func (t *transfers) takeIdle(waitForAll bool, dst []*transfer) ([]*transfer, error) {
	want := len(t.pool) / 2
	if waitForAll {
		want = len(t.pool)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.idle) < want {
		t.idleCond.Wait()
	}
	dst = append(dst[:0], t.idle...)
	t.idle = t.idle[:0]
	return dst, t.firstErr
}

// run submits transfers until the configured number or duration is reached, and waits for their receipts.
func (t *transfers) run(ctx context.Context, j *posting.Journal, cfg *LedgerConfig) error {
	t.began = time.Now()
	remaining := cfg.Transfers
	var batch []*transfer
	for {
		var err error
		if batch, err = t.takeIdle(false, batch); err != nil {
			return fmt.Errorf("bench: a transfer was refused: %w", err)
		}
		now := time.Since(t.began)
		isOver := ctx.Err() != nil || (cfg.Transfers == 0 && now >= cfg.Duration) || (cfg.Transfers > 0 && remaining == 0)
		if cfg.Transfers > 0 {
			count := min(remaining, len(batch))
			t.makeIdle(batch[count:])
			batch = batch[:count]
			remaining -= count
		}
		if isOver {
			t.makeIdle(batch)
			break
		}
		for _, x := range batch {
			t.fill(x)
			x.sentAt = time.Since(t.began)
			j.Submit(&x.change, x.done)
		}
	}
	if _, err := t.takeIdle(true, batch); err != nil {
		return fmt.Errorf("bench: a transfer was refused: %w", err)
	}
	return context.Cause(ctx)
}

func (t *transfers) makeIdle(unused []*transfer) {
	t.mu.Lock()
	t.idle = append(t.idle, unused...)
	t.mu.Unlock()
}
