package config

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// checkResources reports what is wrong with the resources of a container. A
// null removes a default, so it is allowed everywhere.
func (p *problems) checkResources(container string, given field.Map) {
	if len(given) == 0 {
		return
	}
	path := specPath.Key(container, "resources")
	p.checkLimits(path, given)
	for _, e := range given {
		quantities, isMap := e.Value.(field.Map)
		switch {
		case e.Key != "limits" &&
			e.Key != "requests" &&
			e.Key != "claims":
			p.add(path.Key(e.Key), "unknown field; allowed are claims, limits and requests%s", meant(e.Key, []string{"claims", "limits", "requests"}))
		case e.Key == "claims" || e.Value == nil:
		case !isMap:
			p.add(path.Key(e.Key), "must be a mapping of resources and quantities, such as {memory: 48Mi}")
		}
		for _, q := range quantities {
			if e.Key != "claims" && !resources.IsQuantity(q.Value) {
				p.add(path.Key(e.Key, q.Key), "\"%v\" must be a quantity that is not negative, such as 48Mi, 100m or 0.5", q.Value)
			}
		}
	}
}

// checkLimits reports a request above its limit, which the API server refuses in every container.
func (p *problems) checkLimits(path field.Path, given field.Map) {
	requests := field.As[field.Map](given, "requests")
	limits := field.As[field.Map](given, "limits")
	for _, q := range requests {
		limit, set := limits.Get(q.Key)
		if set && limit != nil && resources.IsOver(q.Value, limit) {
			p.add(path.Key("requests", q.Key), "\"%v\" must be at most the limit, %v", q.Value, limit)
		}
	}
}
