package ledgerapi

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
)

// CheckResult is the result of a check of the whole store: the outcome of each rule, without the individual findings.
type CheckResult struct {
	At    web.Instant `json:"at"`
	Rules []CheckRule `json:"rules"`
}

// CheckRule is the result of one of the checker's rules.
type CheckRule struct {
	Number  int    `json:"rule"`
	Outcome string `json:"outcome"` // ok, FAIL or skipped
	Name    string `json:"name"`    // what the rule requires, as a text
}

// readLastCheck is GET /ledger/check: the result of the last check of the store, or null if the store was never checked. A
// check covers all organizations, so counts and findings would disclose data of other organizations; the response contains
// neither.
func (h *Handlers) readLastCheck(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	result, err := h.cfg.LastCheck()
	if err != nil {
		return err
	}
	web.WriteData(req, fiber.StatusOK, result)
	return nil
}
