package yaml

import "github.com/rewrite-probes/rewrite-probes/internal/field"

// MappingIn returns the mapping that a text holds, YAML or JSON, such as the value of an annotation or
// of a ConfigMap. It is that of the first document, and empty if that is. A key that is there twice
// is there twice: for the parser of the API server the last one counts.
func MappingIn(text string) (field.Map, error) {
	x, err := Check([]byte(text), nil)
	if err != nil {
		return nil, err
	}
	d := x.Documents(nil)
	d.parser.prunes = false
	if !d.Next() {
		return nil, nil
	}
	if empty, err := d.Read(); empty || err != nil {
		return nil, err
	}
	t := d.Tree()
	if t.Special && !d.parser.resolve() {
		return nil, d.parser.Refused.From(0)
	}
	m, _ := t.Any(1).(field.Map)
	return m, nil
}
