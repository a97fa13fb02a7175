package web

import "github.com/valyala/fasthttp"

// What a node of a cluster asserts about a request that it forwards to another node. The keys' types are not exported, so
// nothing that a client sends can set these values.
type (
	operatorKey struct{} // the request has a valid administration token
	secureKey   struct{} // the request came over TLS
)

// AssertOperator records that the request has a valid administration token, which another shard's directory has found.
func AssertOperator(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(operatorKey{}, true) }

func isOfOperator(ctx *fasthttp.RequestCtx) bool { return ctx.UserValue(operatorKey{}) != nil }

// AssertSecure records that the client sent the request over TLS to another node.
func AssertSecure(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(secureKey{}, true) }

// IsSecure tells whether the client sent the request over TLS, to this node or to another one.
func IsSecure(ctx *fasthttp.RequestCtx) bool { return ctx.IsTLS() || ctx.UserValue(secureKey{}) != nil }
