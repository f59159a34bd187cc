package pod

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// HandlerEdits returns the edits that change the handler of the probe or hook at
// path from have to want. Within httpGet only the fields that differ are touched.
// form has the fields of want as they were written; nil if that does not matter.
func HandlerEdits(path field.Path, have, want *Handler, form field.Map) []field.Edit {
	from := have.Kind()
	to := want.Kind()
	if from != to {
		value := form
		if value == nil {
			value = want.Value()
		}
		return []field.Edit{{Op: field.Rename, Path: path.Key(from), NewKey: to, Value: value}}
	}
	if to != KindHTTPGet {
		return nil
	}
	edits := make([]field.Edit, 0, 3)
	h := have.HTTPGet
	w := want.HTTPGet
	if h.Port != w.Port {
		port := field.Edit{Op: field.Set, Path: path.Key(from, "port"), Value: w.Port.Value()}
		edits = append(edits, port)
	}
	for _, f := range [...]struct{ key, before, have, want string }{
		{"path", "port", h.Path, w.Path},
		{"scheme", "", h.Scheme, cmp.Or(w.Scheme, h.Scheme)},
		{"protocol", Following(form, "protocol"), h.Protocol, w.Protocol},
	} {
		if f.have == f.want {
			continue
		}
		edit := field.Edit{Op: field.Set, Path: path.Key(from, f.key)}
		switch asWritten, isWritten := form.Get(f.key); {
		case f.want != "":
			edit.Before = f.before
			edit.Value = f.want
		case isWritten && (asWritten == nil || asWritten == ""):
			edit.Value = asWritten
		default:
			edit.Op = field.Delete
		}
		edits = append(edits, edit)
	}
	if !slices.Equal(h.HTTPHeaders, w.HTTPHeaders) {
		edits = append(
			edits,
			headerEdits(path.Key(from, HeadersField), h.HTTPHeaders, w.HTTPHeaders, form)...,
		)
	}
	return edits
}

// headerEdits returns the edits that change the headers at path, which differ. Those that
// stay are not touched.
func headerEdits(path field.Path, have, want []HTTPHeader, form field.Map) []field.Edit {
	switch wasEmpty, noted := form.Get(HeadersField); {
	case len(want) == 0 && noted:
		return []field.Edit{{Op: field.Set, Path: path, Value: wasEmpty}}
	case len(want) == 0:
		return []field.Edit{{Op: field.Delete, Path: path}}
	case len(have) == 0:
		return []field.Edit{{Op: field.Set, Path: path, Value: headerList(want)}}
	}
	var edits []field.Edit
	same := 0 // how many headers of want have been found, in their order
	for i, x := range have {
		if same < len(want) && want[same] == x {
			same++
		} else {
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Index(i)})
		}
	}
	for _, v := range headerList(want[same:]) {
		edits = append(edits, field.Edit{Op: field.Insert, Path: path.Index(len(have)), Value: v})
	}
	return edits
}

// Following returns the key that follows another; "" if it is the last.
func Following(form field.Map, key string) string {
	for i, e := range form[:max(0, len(form)-1)] {
		if e.Key == key {
			return form[i+1].Key
		}
	}
	return ""
}
