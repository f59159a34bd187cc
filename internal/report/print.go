package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var severityColors = map[transformer.Severity]string{
	transformer.Error:   "\x1b[31m", // red
	transformer.Warning: "\x1b[33m", // yellow
}

// Print writes messages, each with all its parts in one line. Unless it is verbose, it leaves
// out infos, and of messages that are alike, which a repository has very many of, it writes
// the first and how many more there are.
func Print(w io.Writer, messages []Message, verbose bool, color Color) {
	for _, m := range folded(messages, verbose) {
		fmt.Fprintln(w, m.colored(m.prefix(), color)+m.Sentence())
	}
}

// printParts writes messages as Print does, but why and fix on lines of their own. A fix that
// several messages share comes once, after them.
func printParts(w io.Writer, messages []Message, verbose bool, color Color) {
	shown := folded(messages, verbose)
	fixes := newFixes(shown)
	fixes.print(w, shown, color)
	fixes.printShared(w)
}

// colored paints the severity, with which a line begins.
func (m *Message) colored(line string, color Color) string {
	severity := string(m.Severity)
	return color.paint(severityColors[m.Severity], severity) + strings.TrimPrefix(line, severity)
}

// folded returns the messages to print: pointers, since there can be very many.
func folded(messages []Message, verbose bool) (all []*Message) {
	var shown []*Message
	for i := range messages {
		if m := &messages[i]; verbose || m.Severity != transformer.Info || m.Reason.Doc().Always {
			shown = append(shown, m)
		}
	}
	if verbose {
		return shown
	}
	return alikeOnce(shown)
}

// alikeOnce returns of messages that are alike the first, and how many more there are.
func alikeOnce(shown []*Message) (all []*Message) {
	count := make(map[string]int)
	for _, m := range shown {
		count[m.alike()]++
	}
	seen := make(map[string]int)
	for _, m := range shown {
		key := m.alike()
		n := count[key]
		if seen[key]++; key == "" || n <= 2 {
			all = append(all, m)
			continue
		}
		if seen[key] == 1 {
			more := reason.NewText("%d more like this (-v lists them)", n-1)
			all = append(all, m, &Message{
				Severity: m.Severity,
				Reason:   m.Reason,
				Text:     more,
				more:     true,
			})
		}
	}
	return all
}

// alike returns the same for messages with the same cause and fix, of which there can be
// very many; "" for others.
func (m *Message) alike() string {
	switch {
	case m.Reason.Doc().SameFix:
		return m.Reason.String()
	case m.Reason == reason.UnknownKind: // the fix names the field, without indexes
		kind := m.Object.APIVersion + " " + m.Object.Kind
		return m.Reason.String() + " " + kind + " " + m.Field.Pattern().String()
	case m.doubt().If != "":
		return m.Reason.String() + " " + m.Doubt.If
	}
	return ""
}

// fixes are the fixes of some messages, with the keys of the messages that have each.
type fixes struct {
	count map[string]int
	keys  map[string][]string
	order []string
}

func newFixes(messages []*Message) *fixes {
	f := &fixes{count: make(map[string]int), keys: make(map[string][]string)}
	for _, m := range messages {
		f.add(m)
	}
	return f
}

func (f *fixes) add(m *Message) {
	fix := m.Fix()
	if f.count[fix]++; f.count[fix] == 1 {
		f.order = append(f.order, fix)
	}
	if key := m.Reason.String(); !slices.Contains(f.keys[fix], key) {
		f.keys[fix] = append(f.keys[fix], key)
	}
}

// print writes messages, each with why, and the fix if no other message has it, below.
func (f *fixes) print(w io.Writer, messages []*Message, color Color) {
	for _, m := range messages {
		fmt.Fprintln(w, m.colored(m.prefix(), color)+m.headline())
		f.printBelow(w, m, "  ")
	}
}

// printBelow writes why, and the fix if no other message has it, below a message.
func (f *fixes) printBelow(w io.Writer, m *Message, indent string) {
	if why := m.Text.Why; why != "" {
		fmt.Fprintf(w, "%swhy: %s\n", indent, field.Printable(reason.Sentence(why)))
	}
	if fix := m.Fix(); fix != "" && f.count[fix] == 1 {
		fmt.Fprintf(w, "%sfix: %s\n", indent, field.Printable(reason.Sentence(fix)))
	}
}

// printShared writes each fix that several messages have.
func (f *fixes) printShared(w io.Writer) {
	for _, fix := range f.order {
		if fix != "" && f.count[fix] > 1 {
			slices.Sort(f.keys[fix])
			fmt.Fprintf(
				w,
				"fix [%s]: %s\n",
				strings.Join(f.keys[fix], ", "),
				field.Printable(reason.Sentence(fix)),
			)
		}
	}
}

// Diff paints the lines of a unified diff of one file: its header, places, and what goes and comes.
func (c Color) Diff(text []byte) []byte {
	if !c {
		return text
	}
	var out bytes.Buffer
	header := 3 // lines: diff, ---, +++
	for line := range bytes.Lines(text) {
		bare := string(bytes.TrimSuffix(line, []byte("\n")))
		code := ""
		switch {
		case header > 0:
			code = bold
		case bare == "":
		case bare[0] == '@':
			code = "\x1b[36m" // cyan
		case bare[0] == '-':
			code = "\x1b[31m" // red
		case bare[0] == '+':
			code = "\x1b[32m" // green
		}
		header--
		out.WriteString(c.paint(code, bare) + "\n")
	}
	return out.Bytes()
}
