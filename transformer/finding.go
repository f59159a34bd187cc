package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// FirstError returns the first finding that is an error; nil if there is none.
func FirstError(findings []Finding) *Finding {
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.Severity == Error })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// NewFinding returns a finding with the severity of its reason. The message
// begins with the path, if that is not empty.
func NewFinding(key string, path field.Path, format string, args ...any) Finding {
	f := Finding{Severity: reason.SeverityOf(key), Reason: key, Field: path}
	f.Message = fmt.Sprintf(format, args...)
	if len(path) > 0 {
		f.Message = fmt.Sprintf("`%s`: %s", path, f.Message)
	}
	return f
}

func containerFinding(key string, path field.Path, container, format string, args ...any) Finding {
	f := NewFinding(key, path, format, args...)
	f.Container = container
	return f
}

// metadataFinding returns a finding about the value of a label or an annotation.
func metadataFinding(reason string, path field.Path, value, format string, args ...any) Finding {
	f := NewFinding(reason, path, "%q "+format, append([]any{value}, args...)...)
	f.Current = value
	return f
}
