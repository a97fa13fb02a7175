package audit

import "testing"

// The texts of exports have the seqs of their entries, which tell how much is left.
func TestSeqsAreFoundInTextExports(t *testing.T) {
	for format, pieces := range map[string][]string{
		"csv": {
			"seq,line,booked_at,effective_date,phase\n11,1,2026-11-28T19:16:47Z,2026-11-28,posted\n11,2,2026-11-28T19:16:47Z,2026-11-28,posted\n12,1,2026",
			"-11-28T19:16:47Z,2026-11-28,posted\n17,1,2026-11-28T19:16:47Z,2026-11-28,posted\n17,2,", "99999,1,later than the head\n",
		},
		"hledger": {
			"2026-11-28=2026-11-28 * (11) settle\n    ; source:transaction 40f67940\n\n2026-11-28=2026-11-28 ! (12) hold\n",
			"2026-11-28=2026-11-28 * (17) settle\n    A:bank  3.00 \"USD//test\"\n",
		},
		"beancount": {"  seq: 11\n  source: \"transaction 40f67940\"\n  seq: 12\n", "  seq: 17\n"},
	} {
		transfer := &transfer{seqPattern: seqPatterns[format], size: 40}
		transfer.countSeqs([]byte(pieces[0]))
		if transfer.lastSeq != 12 {
			t.Errorf("%s: the last entry of the first piece is %d, want 12", format, transfer.lastSeq)
		}
		for _, piece := range pieces[1:] {
			transfer.countSeqs([]byte(piece))
		}
		if transfer.lastSeq != 17 {
			t.Errorf("%s: the last entry is %d, want 17", format, transfer.lastSeq)
		}
	}
}
