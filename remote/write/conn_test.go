package write

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func dial(t *testing.T, server *httptest.Server) *net.TCPConn {
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// sendHalf announces the whole block, sends half of it and says that it is done.
func sendHalf(t *testing.T, conn *net.TCPConn, block []byte) {
	_, err := fmt.Fprintf(conn, "POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(block))
	require.NoError(t, err)
	_, err = conn.Write(block[:len(block)/2])
	require.NoError(t, err)
	require.NoError(t, conn.CloseWrite())
}

func readAnswer(t *testing.T, conn net.Conn) *http.Response {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}
