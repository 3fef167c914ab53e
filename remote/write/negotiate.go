package write

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/remote/internal/wire"
)

// version is the protocol of a request.
type version uint8

const (
	version1 version = iota + 1
	version2
)

const (
	mediaType = "application/x-protobuf"
	messageV1 = "prometheus.WriteRequest"
	messageV2 = "io.prometheus.write.v2.Request"
)

// negotiateVersion reads a Content-Type; without one the message is of 1.0. The
// error is a 415, upon which a sender may fall back to the other version.
func negotiateVersion(contentType string) (version, error) {
	switch contentType {
	case "", mediaType:
		return version1, nil
	case mediaType + ";proto=" + messageV2:
		return version2, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != mediaType {
		return 0, status.New(http.StatusUnsupportedMediaType,
			fmt.Sprintf("content type %q is not supported, want %s", clipText(contentType, 128), mediaType))
	}
	switch params["proto"] {
	case "", messageV1:
		return version1, nil
	case messageV2:
		return version2, nil
	}
	return 0, status.New(http.StatusUnsupportedMediaType,
		fmt.Sprintf("message %q is not supported, want %s or %s", clipText(params["proto"], 128), messageV1, messageV2))
}

// negotiateEncoding reads a Content-Encoding. Without one the body is a snappy
// block: old senders left the header out.
func negotiateEncoding(encoding string) (string, error) {
	switch strings.ToLower(encoding) {
	case "", wire.Snappy:
		return wire.Snappy, nil
	case wire.Zstd:
		return wire.Zstd, nil
	}
	return "", &wire.EncodingError{Encoding: encoding, Want: "snappy or zstd"}
}
