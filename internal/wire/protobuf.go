package wire

import "google.golang.org/protobuf/encoding/protowire"

// AppendString appends a string field to a protobuf message, unless it is empty.
func AppendString(b []byte, number protowire.Number, value string) []byte {
	if value == "" {
		return b
	}
	return AppendBytes(b, number, []byte(value))
}

// AppendBytes appends a field to a protobuf message: bytes, a string or a message.
func AppendBytes(b []byte, number protowire.Number, value []byte) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, value)
}

// Fields calls f with each field of a protobuf message, whose value is still
// encoded. It stops and returns false where the message is malformed.
func Fields(message []byte, f func(number protowire.Number, kind protowire.Type, value []byte)) (ok bool) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return false
		}
		f(number, kind, message[:n])
		message = message[n:]
	}
	return true
}
