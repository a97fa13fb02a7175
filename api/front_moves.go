package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/ledger"
)

// Mover moves organizations from and to a shard that this node leads.
type Mover interface {
	// Start begins to move an organization to another shard, in the background. Errors are *ledger.Refusal.
	Start(org ledger.ID, to int) error
	// Receive carries out a step of the move of an organization to the shard. Repeating a step does no harm.
	Receive(step MoveStep) ([]byte, error)
	// IsReceiving tells whether organizations are being copied to the shard.
	IsReceiving() bool
	// Moves returns the moves from the shard that are under way, and the last ones that have ended.
	Moves() []MoveStatus
}

// MoveStep is a step of a move, at the shard that gets the organization.
type MoveStep struct {
	Shard     int
	Org, Move ledger.ID
	Name      string
	Number    uint64 // counts the steps of the move that must be carried out in order; 0 for others
	Body      []byte
}

// MoveStatus describes a move of an organization.
type MoveStatus struct {
	Organization string  `json:"organization"`
	From         int     `json:"from"`
	To           int     `json:"to"`
	State        string  `json:"state"` // MoveCopying, MoveEnded or MoveFailed
	Rows         uint64  `json:"rows"`  // rows that were copied; this and the next ones are 0 if an earlier leader has made the move
	Bytes        uint64  `json:"bytes"`
	StartedAt    string  `json:"started_at"`
	PauseMillis  int64   `json:"pause_ms"` // how long no shard accepted changes of the organization
	Error        *string `json:"error"`    // why the organization has stayed
}

// States of a move.
const (
	MoveCopying = "copying"
	MoveEnded   = "moved"
	MoveFailed  = "failed"
)

// stepStart is the name of the step with which the leader of an organization's shard is asked to begin a move.
const stepStart = "start"

const (
	maxStepBody = 4 << 20 // bytes of a step's body
	stepTime    = 10 * time.Second
)

// moveOrganization is POST /cluster/move: it begins to move an organization to another shard. GET /cluster shows how far the move
// is.
func (f *Front) moveOrganization(req *web.Request) error {
	form, err := parseCommand(req, "organization", "shard")
	if err != nil {
		return err
	}
	org, err := uuid.Parse(form.TextOrEmpty("organization"))
	if err != nil {
		form.Problems.Add("organization", "organization must be an id")
	}
	shard := form.Number("shard")
	if shard <= platformShard || shard >= int64(f.cfg.Shards.Count()) {
		form.Problems.Add("shard", fmt.Sprintf("shard must be an integer from 1 to %d", f.cfg.Shards.Count()-1))
	}
	if err := form.Problems.Err(); err != nil {
		return err
	}
	to := int(shard)
	from := f.cfg.Shards.ShardOf(org)
	deadline := time.Now().Add(stepTime)
	for hops := 0; hops < 2*f.cfg.Shards.Count(); {
		elsewhere, err := f.startMove(from, org, to)
		if ledger.IsRefusal(err, ledger.Unavailable) && time.Now().Before(deadline) { // the shard may be getting another leader
			time.Sleep(leaderCheck)
			continue
		}
		if err != nil {
			return err
		}
		hops++
		if elsewhere == from {
			content, err := json.Marshal(map[string]any{"data": map[string]any{"organization": org.String(), "from": from, "to": to, "state": MoveCopying}})
			if err != nil {
				return err
			}
			web.WriteJSON(req.RequestCtx, fiber.StatusAccepted, content)
			return nil
		}
		from = elsewhere
	}
	return ledger.Refuse("api.front", ledger.Unavailable, "the organization is being moved: nothing was done")
}

// startMove lets the leader of a shard begin to move an organization. If another shard has the organization, it is returned.
func (f *Front) startMove(from int, org ledger.ID, to int) (elsewhere int, err error) {
	leader := f.cfg.Shards.Leader(from)
	if leader == f.cfg.Node {
		return f.startMoveHere(from, org, to)
	}
	if leader == "" {
		return 0, noLeader(from)
	}
	var answer moveAnswer
	status, content, err := f.askNode(leader, fiber.MethodPost, moveURI(MoveStep{Name: stepStart, Shard: from, Org: org})+"&to="+strconv.Itoa(to), nil, []byte{}, stepTime)
	if err != nil {
		return 0, ledger.Refuse("api.front", ledger.Unavailable, "node %s has not answered: it is unknown whether the move has begun", leader)
	}
	err = readMoveAnswer(status, content, &answer)
	return answer.Elsewhere, err
}

func (f *Front) startMoveHere(from int, org ledger.ID, to int) (elsewhere int, err error) {
	lead, ok := f.cfg.Shards.Enter(from)
	if !ok {
		return 0, noLeader(from)
	}
	defer lead.Leave()
	switch location := lead.Locate(org); {
	case location.IsMoving:
		return 0, ledger.Refuse("api.front", ledger.Conflict, "the organization is being moved already")
	case location.Shard != from:
		return location.Shard, nil
	}
	if err := lead.Verify(); err != nil {
		return 0, noLeader(from)
	}
	return from, lead.Mover().Start(org, to)
}

// moveAnswer is another node's answer about a move.
type moveAnswer struct {
	Code      ledger.Code `json:"code,omitempty"` // of the refusal; empty: there is none
	Text      string      `json:"text,omitempty"` // of the refusal
	Elsewhere int         `json:"elsewhere"`      // the shard that has the organization
	Result    []byte      `json:"result,omitempty"`
}

func readMoveAnswer(status int, content []byte, answer *moveAnswer) error {
	if status != fiber.StatusOK {
		return ledger.Refuse("api.front", ledger.Unavailable, "the other node answers %d", status)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return err
	}
	if answer.Code != "" {
		return ledger.Refuse("api.front", answer.Code, "%s", answer.Text)
	}
	return nil
}

func moveURI(step MoveStep) string {
	return peerMovePath + "?" + url.Values{
		"step": {step.Name}, "shard": {strconv.Itoa(step.Shard)}, "organization": {step.Org.String()}, "move": {step.Move.String()},
		"number": {strconv.FormatUint(step.Number, 10)},
	}.Encode()
}

// AskMove lets the leader of a shard carry out a step of a move. It repeats the step until a leader has answered, or until ctx
// ends. Errors are *ledger.Refusal; with the code Unavailable, it is unknown whether the step was carried out.
func (f *Front) AskMove(ctx context.Context, step MoveStep) ([]byte, error) {
	for {
		if ctx.Err() != nil {
			return nil, noLeader(step.Shard)
		}
		result, err := f.askMoveOnce(step)
		if !ledger.IsRefusal(err, ledger.Unavailable) {
			return result, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(leaderCheck):
		}
	}
}

func (f *Front) askMoveOnce(step MoveStep) ([]byte, error) {
	leader := f.cfg.Shards.Leader(step.Shard)
	switch leader {
	case "":
		return nil, noLeader(step.Shard)
	case f.cfg.Node:
		return f.receiveMove(step)
	}
	status, content, err := f.askNode(leader, fiber.MethodPost, moveURI(step), nil, step.Body, stepTime)
	if err != nil {
		return nil, ledger.Refuse("api.front", ledger.Unavailable, "node %s has not answered: %v", leader, err)
	}
	var answer moveAnswer
	err = readMoveAnswer(status, content, &answer)
	return answer.Result, err
}

// receiveMove carries out a step at a shard that this node leads.
func (f *Front) receiveMove(step MoveStep) (result []byte, err error) {
	lead, ok := f.cfg.Shards.Enter(step.Shard)
	if !ok {
		return nil, noLeader(step.Shard)
	}
	defer lead.Leave()
	if result, err = lead.Mover().Receive(step); err == nil && lead.Verify() != nil { // the answer may be that of a former leader
		err = noLeader(step.Shard)
	}
	return result, err
}

// answerMove answers what another node asks about a move.
func (f *Front) answerMove(ctx *fasthttp.RequestCtx) {
	defer body.Wipe(ctx)
	args := ctx.QueryArgs()
	shard, shardErr := strconv.Atoi(string(args.Peek("shard")))
	org, orgErr := uuid.ParseBytes(args.Peek("organization"))
	move, moveErr := uuid.ParseBytes(args.Peek("move"))
	number, numberErr := strconv.ParseUint(string(args.Peek("number")), 10, 64)
	isKnown := numberErr == nil && shardErr == nil && orgErr == nil && moveErr == nil && shard > platformShard && shard < f.cfg.Shards.Count()
	if !isKnown || f.Server.bodies.ReadAnonymous(ctx, maxStepBody) != nil {
		ctx.SetStatusCode(fiber.StatusBadRequest)
		return
	}
	var answer moveAnswer
	var err error
	if step := string(args.Peek("step")); step == stepStart {
		to, toErr := strconv.Atoi(string(args.Peek("to")))
		if toErr != nil {
			ctx.SetStatusCode(fiber.StatusBadRequest)
			return
		}
		answer.Elsewhere, err = f.startMoveHere(shard, org, to)
	} else {
		answer.Result, err = f.receiveMove(MoveStep{Shard: shard, Org: org, Move: move, Name: step, Number: number, Body: ctx.Request.Body()})
	}
	if err != nil {
		refusal := web.RefusalsOf(err)[0]
		if refusal.Code == ledger.Internal {
			f.cfg.Log.Error("a step of a move has failed", "shard", shard, "organization", org.String(), "error", err)
		}
		answer.Code, answer.Text = refusal.Code, refusal.Detail
	}
	writeValue(ctx, answer)
}
