package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A chartVersion is a version of a chart. In a range some of its numbers may be left out.
type chartVersion struct {
	numbers [3]int
	given   int // how many numbers it has
	pre     string
}

var chartVersionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)
})

func parseChartVersion(text string) (v chartVersion, ok bool) {
	m := chartVersionForm().FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	for i, number := range m[1:4] {
		n, err := strconv.Atoi(number)
		if err != nil {
			break
		}
		v.numbers[i], v.given = n, i+1
	}
	v.pre = m[4]
	return v, true
}

// compare compares two versions by their precedence (https://semver.org, 11).
func (v chartVersion) compare(w chartVersion) int {
	byNumbers := slices.Compare(v.numbers[:], w.numbers[:])
	if byNumbers != 0 || v.pre == w.pre {
		return byNumbers
	}
	if v.pre == "" || w.pre == "" {
		return cmp.Compare(len(w.pre), len(v.pre)) // a release comes after its prereleases
	}
	ours, others := strings.Split(v.pre, "."), strings.Split(w.pre, ".")
	return slices.CompareFunc(ours, others, func(a, b string) int {
		m, noNumber := strconv.Atoi(a)
		n, noOther := strconv.Atoi(b)
		switch {
		case noNumber == nil && noOther == nil:
			return cmp.Compare(m, n)
		case noNumber == nil: // numbers come first
			return -1
		case noOther == nil:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// next returns the first version in which the number at an index is greater.
func (v chartVersion) next(i int) chartVersion {
	n := chartVersion{given: 3}
	copy(n.numbers[:], v.numbers[:i+1])
	n.numbers[i]++
	return n
}

var chartRangePart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(=|!=|>=|=>|<=|=<|>|<|~>|~|\^)?\s*([^\s<>=!~^,]+)[\s,]*`)
})

// inChartRange reports whether a version is in a range, as Helm and Flux read it (github.com/Masterminds/semver). ok is false
// if one of them has another form.
func inChartRange(version, in string) (is, ok bool) {
	v, ok := parseChartVersion(version)
	if !ok || v.given != 3 {
		return false, false
	}
	for alternative := range strings.SplitSeq(in, "||") {
		limits, ok := chartLimits(strings.TrimSpace(alternative))
		if !ok {
			return false, false
		}
		isPre := func(l chartLimit) bool { return l.pre != "" }
		isMissed := func(l chartLimit) bool { return !v.satisfies(l) }
		fits := v.pre == "" || slices.ContainsFunc(limits, isPre) // a prerelease must be asked for
		is = is || fits && !slices.ContainsFunc(limits, isMissed)
	}
	return is, true
}

// A chartLimit is a part of a range, such as <2.
type chartLimit struct {
	operator string
	chartVersion
}

// chartLimits returns the parts of a range without alternatives.
func chartLimits(rest string) (limits []chartLimit, ok bool) {
	if from, to, isSpan := strings.Cut(rest, " - "); isSpan {
		rest = ">=" + strings.TrimSpace(from) + " <=" + strings.TrimSpace(to)
	}
	for rest != "" {
		part := chartRangePart().FindStringSubmatch(rest)
		if part == nil {
			return nil, false
		}
		limit, valid := parseChartVersion(part[2])
		if !valid {
			return nil, false
		}
		limits = append(limits, chartLimit{part[1], limit})
		rest = rest[len(part[0]):]
	}
	return limits, len(limits) > 0
}

// satisfies reports whether a version is on one side of another, of which numbers may be missing.
func (v chartVersion) satisfies(limit chartLimit) bool {
	if limit.given == 0 {
		return !slices.Contains([]string{"!=", "<", ">"}, limit.operator)
	}
	isLeast := v.compare(limit.chartVersion) >= 0
	isWithin := func(i int) bool { return isLeast && v.compare(limit.next(i)) < 0 }
	last := limit.given - 1 // the last number that it has
	isSame := v.compare(limit.chartVersion) == 0 || limit.given < 3 && isWithin(last)
	switch limit.operator {
	case "!=":
		return !isSame
	case ">":
		return isLeast && !isSame
	case ">=", "=>":
		return isLeast
	case "<":
		return !isLeast
	case "<=", "=<":
		return !isLeast || isSame
	case "~", "~>":
		return isWithin(min(last, 1))
	case "^":
		return isWithin(min(limit.zeros(), last))
	}
	return isSame
}

// zeros returns how many numbers before the first that counts are 0.
func (v chartVersion) zeros() int {
	i := slices.IndexFunc(v.numbers[:], func(n int) bool { return n > 0 })
	if i < 0 {
		return len(v.numbers)
	}
	return i
}
