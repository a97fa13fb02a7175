package linearizable

// This file has the model of the requests with one Idempotency-Key. The state is the request that has used the key, and the
// response to it.

// keyState has the body of the first request that was carried out, and what is known of the response to it. If that request got
// no response, its repetitions show the present state of the created record. So only the record's id must be the same in all of
// them.
type keyState struct {
	isUsed       bool
	body         string
	id, response string // id of the created record and body of the response; empty: not known yet
	isAnswered   bool   // the first request got a response, so every repetition must get the same response
}

// keyInput is the input of a request with the key: its body. Its output is a keyOutput, or nil if the outcome is unknown.
type keyInput struct{ body string }

// keyOutput is a response.
type keyOutput struct {
	httpStatus   int
	isReplay     bool
	id, response string // id of the created record; body of the response
}

// keyModel is the model: the first request is carried out, the same request gets the same response again, and a request with
// another body is refused with 409.
var keyModel = newModel(keyState{}, func(state, input, output any, isOver bool) (bool, any) {
	s := state.(keyState)
	allowed := s.step(input.(keyInput).body, output, isOver)
	return allowed, s
})

func (s *keyState) step(body string, output any, isOver bool) bool {
	out, isKnown := output.(keyOutput)
	switch {
	case !isKnown && !s.isUsed:
		*s = keyState{isUsed: true, body: body}
		return true
	case !isKnown:
		return isOver // the request was a repetition, was refused, or was not carried out
	case !s.isUsed:
		*s = keyState{isUsed: true, body: body, id: out.id, response: out.response, isAnswered: true}
		return out.httpStatus == 201 && !out.isReplay && out.id != ""
	case body != s.body:
		return out.httpStatus == 409
	}
	isSame := out.httpStatus == 201 && out.isReplay && out.id != "" && (s.id == "" || s.id == out.id) && (!s.isAnswered || s.response == out.response)
	s.id = out.id
	return isSame
}
