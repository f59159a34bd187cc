package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// isDeclared reports whether we added a mesh's proxy that has no env var but ours: it has only
// what we declare for it, and what the API server fills in. If the record says that we declared
// it, its image and its resources may be any. If it says that we did not, the proxy is its author's.
func isDeclared(proxy field.Map, r Record) bool {
	said, isSaid := field.Map(r).Get(recordDeclared)
	declared := said == true
	if isSaid && !declared {
		return false
	}
	for _, e := range istioPlaceholder {
		if v, _ := proxy.Get(e.Key); v != e.Value && !(declared && e.Key == "image") {
			return false
		}
	}
	return !slices.ContainsFunc(proxy, func(e field.Entry) bool {
		_, placed := istioPlaceholder.Get(e.Key)
		return !placed &&
			e.Key != "env" &&
			!(e.Key == "securityContext" && isRestrictedContext(e.Value)) &&
			!(e.Key == "resources" && declared) && !isFilledIn(e, proxy)
	})
}
