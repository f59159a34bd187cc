package field

import "slices"

// A Noted is labels or annotations that note which keys are asked for. What is made of them by
// With and Without notes into the same [Keys], since it comes from the same entries.
type Noted struct {
	all   KeyValues
	asked *Keys // nil notes nothing
}

// Keys are the keys that were asked for. As long as their values stay, the answers do.
type Keys []string

// Note returns entries whose questions go into asked, which may be nil.
func (s KeyValues) Note(asked *Keys) Noted { return Noted{all: s, asked: asked} }

// Lookup returns the value of a key and whether it is there.
func (n Noted) Lookup(key string) (string, bool) {
	if n.asked != nil {
		n.asked.add(key)
	}
	return n.all.Lookup(key)
}

// Get returns the value of a key, or "".
func (n Noted) Get(key string) string {
	v, _ := n.Lookup(key)
	return v
}

// With returns n with the value for the key, see [KeyValues.With].
func (n Noted) With(key, value string) Noted {
	n.all = n.all.With(key, value)
	return n
}

// Without returns n without the key.
func (n Noted) Without(key string) Noted {
	n.all = n.all.Without(key)
	return n
}

// Unnoted returns the entries for those who write them, or tell them to people: that is no question.
func (n Noted) Unnoted() KeyValues { return n.all }

func (k *Keys) add(key string) {
	if !slices.Contains(*k, key) {
		*k = append(*k, key)
	}
}

// A NotedMetadata is a [Metadata] that notes what is asked of it.
type NotedMetadata struct {
	Name                string
	Labels, Annotations Noted
}

// MetadataKeys are the labels and annotations that were asked for.
type MetadataKeys struct{ Labels, Annotations Keys }

// Note returns metadata whose questions go into asked, which may be nil.
func (m *Metadata) Note(asked *MetadataKeys) NotedMetadata {
	if asked == nil {
		return NotedMetadata{m.Name, m.Labels.Note(nil), m.Annotations.Note(nil)}
	}
	return NotedMetadata{m.Name, m.Labels.Note(&asked.Labels), m.Annotations.Note(&asked.Annotations)}
}

// Paths returns the paths of what was asked for, below that of the metadata, in a fixed order.
func (k *MetadataKeys) Paths(metadata Path) (all []Path) {
	for _, key := range slices.Sorted(slices.Values(k.Labels)) {
		all = append(all, metadata.Key("labels", key))
	}
	for _, key := range slices.Sorted(slices.Values(k.Annotations)) {
		all = append(all, metadata.Key("annotations", key))
	}
	return all
}

// Of returns those of the keys that count.
func (k *MetadataKeys) Of(counts func(key string) bool) MetadataKeys {
	not := func(key string) bool { return !counts(key) }
	return MetadataKeys{
		Labels:      slices.DeleteFunc(slices.Clone(k.Labels), not),
		Annotations: slices.DeleteFunc(slices.Clone(k.Annotations), not),
	}
}

// Merge adds what was asked for elsewhere.
func (k *MetadataKeys) Merge(other *MetadataKeys) {
	for _, key := range other.Labels {
		k.Labels.add(key)
	}
	for _, key := range other.Annotations {
		k.Annotations.add(key)
	}
}
