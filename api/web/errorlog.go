package web

import (
	"errors"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"mizan/ledger"
)

// Errors sends the responses to errors, and logs errors that are the service's fault. It logs
// neither bodies nor details of refusals, because both may contain data of the request.
type Errors struct {
	Log *slog.Logger
}

// Respond sends the response to an error.
func (e Errors) Respond(req *Request, err error) {
	status := WriteError(req.RequestCtx, err)
	level := slog.LevelError
	if status == fiber.StatusServiceUnavailable {
		level = slog.LevelDebug // otherwise an overloaded service would fill the disk with its log
	}
	if status >= fiber.StatusInternalServerError {
		e.Log.Log(req.RequestCtx, level, "request failed", "request_id", string(req.Response.Header.PeekBytes(HeaderRequestID)),
			"method", req.Route.Method, "route", req.Route.Path, "status", status, "error", errorClass(err))
	}
}

// errorClass returns the part of an error that contains no data of the request, so that it may be
// logged.
func errorClass(err error) string {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return refusal.Op + ": " + string(refusal.Code)
	}
	return err.Error()
}
