package web

// Names of headers in canonical form, and values of headers that never change.
var (
	HeaderRetryAfter   = []byte("Retry-After")
	HeaderRequestID    = []byte("X-Request-Id")
	HeaderLocation     = []byte("Location")
	HeaderNoSniff      = []byte("X-Content-Type-Options")
	HeaderCache        = []byte("Cache-Control")
	HeaderMismatch     = []byte("X-Idempotent-Mismatch")
	HeaderReplay       = []byte("X-Idempotent-Replay")
	HeaderAPIKey       = []byte("X-Api-Key")
	HeaderOrganization = []byte("X-Organization-Id")
	HeaderTLSOnly      = []byte("Strict-Transport-Security")
	HeaderPolicy       = []byte("Content-Security-Policy")
	HeaderFrameOptions = []byte("X-Frame-Options") // for browsers that don't support the directive frame-ancestors

	headerIdempotency    = []byte("Idempotency-Key")
	headerForwardedFor   = []byte("X-Forwarded-For")
	headerForwardedProto = []byte("X-Forwarded-Proto")

	ValueNoSniff        = []byte("nosniff")
	ValueNoStore        = []byte("no-store")
	ValueJSON           = []byte("application/json")
	ValueTLSOnly        = []byte("max-age=31536000") // a year
	ValueTLSOnlyBriefly = []byte("max-age=3600")
	ValueStrictPolicy   = []byte("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	ValueDeny           = []byte("DENY")

	valueTrue = []byte("true")
)
