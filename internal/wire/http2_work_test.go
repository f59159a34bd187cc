package wire

import (
	"bytes"
	"errors"
	"io"
	"net/textproto"
	"net/url"
	"testing"
)

// A played peer has written its answer before it is asked.
type played struct{ bytes.Buffer }

func (*played) Write(p []byte) (int, error) { return len(p), nil }

// TestFramesOfABodyAreChargedByWhatTheyBring: a body that comes byte by byte is not a failure, and waits for
// its work. Padding is charged, and its sum is bounded.
func TestFramesOfABodyAreChargedByWhatTheyBring(t *testing.T) {
	for _, test := range []struct {
		padding, frames, waits int
		want                   error
	}{
		{0, 10 << 10, (10<<10*(dataWork-1) - 1) / meterStep, nil},
		{0, 32 << 10, (32<<10*(dataWork-1) - 1) / meterStep, nil},
		{255, 1000, (1000*(dataWork-1) - 1) / meterStep, nil},
		{255, 3000, -1, errHeadTooBig},
	} {
		var peer played
		peer.Buffer.Write(appendFrame(nil, frameSettings, 0, 0, nil))
		peer.Buffer.Write(appendHeaders(nil, []byte{0x88}, false))
		payload, flags := []byte{'x'}, byte(0)
		if test.padding > 0 {
			payload, flags = append([]byte{byte(test.padding), 'x'}, make([]byte, test.padding)...), flagPadded
		}
		for i := range test.frames {
			if i == test.frames-1 {
				flags |= flagEndStream
			}
			peer.Buffer.Write(appendFrame(nil, frameData, flags, ourStream, payload))
		}
		waits, granted := 0, 0
		m := &Meter{More: func(n int) bool {
			granted += n
			if n == 0 {
				waits++
			}
			return true
		}}
		res, err := RoundTrip2(&peer, &Request{URL: &url.URL{Scheme: "http", Path: "/"}, Host: "x", Header: textproto.MIMEHeader{}, Meter: m}, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if !errors.Is(err, test.want) || err == nil && len(body) != test.frames {
			t.Errorf("%d frames with padding of %d: %d bytes, %v; want %v", test.frames, test.padding, len(body), err, test.want)
		}
		if test.waits >= 0 && waits != test.waits {
			t.Errorf("%d frames with padding of %d wait %d times, want %d", test.frames, test.padding, waits, test.waits)
		}
		if padded := test.frames * test.padding; err == nil && (granted > padded+meterStep || granted < padded-2*meterStep) {
			t.Errorf("%d bytes are granted for padding of %d", granted, padded)
		}
	}
}
