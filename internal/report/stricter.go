package report

import (
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// judgements are the reasons of messages about what happens to a probe in the mesh; true if it is certain.
var judgements = map[reason.Key]bool{
	reason.WouldFail:        true,
	reason.WouldFalselyPass: true,
	reason.MayFail:          false,
	reason.MayFalselyPass:   false,
	reason.InjectorUnknown:  false,
}

// Stricter returns a message about the probes that work in a run, and fail in another of the same objects
// under strict mTLS; nil if there is none.
func Stricter(strict, permissive *Report) *Message {
	type probe struct {
		object ObjectRef
		field  string
	}
	fails := make(map[probe]bool)
	for _, m := range permissive.Messages {
		if _, judges := judgements[m.Reason]; judges {
			fails[probe{m.about(), m.Field.String()}] = true
		}
	}
	var parts []Message
	happens := "would fail"
	for _, m := range strict.Messages {
		certain, judges := judgements[m.Reason]
		if !judges || fails[probe{m.about(), m.Field.String()}] {
			continue
		}
		if parts = append(parts, m); !certain {
			happens = "could fail"
		}
	}
	if len(parts) == 0 {
		return nil
	}
	m := NewMessage(reason.MTLSPermissive, reason.NewText("%s %s under STRICT mTLS, and work now (PERMISSIVE, Istio's default)", probesOf(parts), happens))
	m.parts = &parts
	return &m
}
