package why

import (
	"strconv"
	"strings"
)

// A line is a line of probe-proxy's log, by its keys.
type line map[string]string

// parse reads the lines of a log: KEY=VALUE, where a value with blanks is quoted as Go does.
func parse(log string) (all []line) {
	for text := range strings.Lines(log) {
		l := line{}
		for rest := strings.TrimSpace(text); rest != ""; {
			key, value, ok := strings.Cut(rest, "=")
			if !ok {
				break
			}
			if quoted, err := strconv.QuotedPrefix(value); err == nil {
				l[key], _ = strconv.Unquote(quoted)
				rest = strings.TrimSpace(value[len(quoted):])
				continue
			}
			l[key], rest, _ = strings.Cut(value, " ")
		}
		all = append(all, l)
	}
	return all
}

// failing returns the line with which a probe began to fail, if it has not succeeded since; nil otherwise.
func failing(log, key string) (found line) {
	for _, l := range parse(log) {
		switch {
		case l["probe"] != key:
		case l["msg"] == "probe succeeds":
			found = nil
		default:
			found = l
		}
	}
	return found
}

// median returns the upper bound, in seconds, of the time that half of a probe's answers took; "" if the metrics do
// not say it.
func median(metrics, key string) string {
	const name = "probe_proxy_probe_duration_seconds"
	total := 0.0
	type bucket struct {
		le string
		n  float64
	}
	var buckets []bucket
	for text := range strings.Lines(metrics) {
		labels, value, _ := strings.Cut(strings.TrimSpace(text), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !strings.Contains(labels, `probe="`+key+`"`) {
			continue
		}
		if _, le, is := strings.Cut(labels, `le="`); is && strings.HasPrefix(labels, name+"_bucket{") {
			buckets = append(buckets, bucket{strings.TrimSuffix(strings.TrimSuffix(le, `"`), `",`), n})
			total = max(total, n)
		}
	}
	for _, b := range buckets {
		if total > 0 && b.n*2 >= total {
			return b.le
		}
	}
	return ""
}
