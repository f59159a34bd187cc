package config

import (
	"fmt"
	"regexp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// quantity matches what the API server accepts as the quantity of a resource, which
// must not be negative.
const quantity = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`

// checkResources reports what is wrong with the resources of a container. A
// null removes a default, so it is allowed everywhere.
func (p *problems) checkResources(container string, resources field.Map) {
	if len(resources) == 0 {
		return
	}
	path := specPath.Key(container, "resources")
	valid := regexp.MustCompile(quantity)
	for _, e := range resources {
		quantities, isMap := e.Value.(field.Map)
		switch {
		case e.Key != "limits" && e.Key != "requests" && e.Key != "claims":
			p.add(path.Key(e.Key), "unknown field; allowed are claims, limits and requests")
		case e.Key == "claims" || e.Value == nil:
		case !isMap:
			p.add(path.Key(e.Key), "must be a mapping of resources and quantities, such as {memory: 48Mi}")
		}
		for _, q := range quantities {
			if q.Value != nil && e.Key != "claims" && !valid.MatchString(fmt.Sprint(q.Value)) {
				p.add(path.Key(e.Key, q.Key), "\"%v\" must be a quantity that is not negative, such as 48Mi, 100m or 0.5", q.Value)
			}
		}
	}
}
