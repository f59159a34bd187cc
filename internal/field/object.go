package field

// Metadata is the part of an object's metadata that is read: its name, and the
// labels and annotations in which people say what they want.
type Metadata struct {
	Name        string    `json:"name"`
	Namespace   string    `json:"namespace"`
	Labels      KeyValues `json:"labels"`
	Annotations KeyValues `json:"annotations"`
}

// AppendName appends the name of an object as messages have it, such as
// "Deployment default/web", and only the kind if there is no name.
func AppendName(b []byte, kind, namespace, name string) []byte {
	b = append(b, kind...)
	if kind == "" || name == "" {
		return b
	}
	b = append(b, ' ')
	if namespace != "" {
		b = append(append(b, namespace...), '/')
	}
	return append(b, name...)
}
