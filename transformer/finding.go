package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// FirstError returns the first finding that is an error; nil if there is none.
func FirstError(findings []Finding) *Finding {
	i := slices.IndexFunc(findings, func(f Finding) bool {
		return f.Severity == Error
	})
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// NewFinding returns a finding with the severity of its reason, which says what happens, in a
// sentence. Why and what to do are added by [Finding.Why] and [Finding.Fix].
func NewFinding(key reason.Key, path field.Path, what string, args ...any) Finding {
	text := reason.NewText(what, args...)
	text.What = reason.Capital(text.What)
	return Finding{Severity: key.Severity(), Reason: key, Text: text, Field: path}
}

// Why returns the finding with its cause.
func (f Finding) Why(format string, args ...any) Finding {
	f.Text.Why = fmt.Sprintf(format, args...)
	return f
}

// Fix returns the finding with a fix of its own, where that of its reason would say too little.
func (f Finding) Fix(format string, args ...any) Finding {
	f.Text.Fix = fmt.Sprintf(format, args...)
	return f
}

func containerFinding(key reason.Key, path field.Path, container, format string, args ...any) Finding {
	f := NewFinding(key, path, format, args...)
	f.Container = container
	return f
}

// metadataFinding returns a finding about the value of a label or an annotation.
func metadataFinding(key reason.Key, path field.Path, value, format string, args ...any) Finding {
	f := NewFinding(key, path, "%q "+format, append([]any{value}, args...)...)
	f.Current = value
	return f
}
