package trace

import (
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := New(true, "query %q", "<up>")
		require.True(t, root.Enabled())
		parse := root.Start("parse")
		time.Sleep(1500 * time.Microsecond)
		parse.Done()
		parse.Donef("once is enough")
		run := root.Start("select %s", "up")
		run.Printf("3 blocks")
		time.Sleep(time.Millisecond)
		run.Donef("%d series", 7)
		root.Start("sort")
		time.Sleep(time.Millisecond)
		require.Equal(t, `null{"duration_msec":3.5,"message":"query \"\u003cup\u003e\" (not over)","children":[`+
			`{"duration_msec":1.5,"message":"parse"},`+
			`{"duration_msec":1,"message":"select up: 7 series","children":[{"duration_msec":0,"message":"3 blocks"}]},`+
			`{"duration_msec":1,"message":"sort (not over)"}]}`, string(root.AppendJSON([]byte("null"))))
	})
}

func TestOff(t *testing.T) {
	s := New(false, "query %d", 1)
	require.Nil(t, s)
	require.False(t, s.Enabled())
	child := s.Start("step")
	child.Printf("x")
	child.Done()
	child.Donef("x")
	require.Nil(t, child)
	require.Equal(t, "null", string(child.AppendJSON(nil)))
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Start("step").Donef("done") }))
}

func TestWorkers(t *testing.T) {
	root := New(true, "query")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				root.Start("morsel").Donef("%d rows", 3)
				root.AppendJSON(nil)
			}
		})
	}
	wg.Wait()
	root.Done()
	var n node
	require.NoError(t, json.Unmarshal(root.AppendJSON(nil), &n))
	require.Len(t, n.Children, 400)
}
