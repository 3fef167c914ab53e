package promqlx

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDeadline holds deadline to what context.WithDeadline does, waited for and not.
func TestDeadline(t *testing.T) {
	type key struct{}
	for _, waited := range []bool{false, true} {
		f := func(name string, want error, happens func(cancel, end func())) {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
					defer cancel()
					until := time.Now().Add(time.Minute)
					std, endStd := context.WithDeadline(parent, until)
					defer endStd()
					d := new(deadline)
					ctx := d.within(parent, until)
					var child context.Context
					if waited {
						ctx.Done()
						c, cancel := context.WithCancel(ctx)
						defer cancel()
						child = c
					}
					require.NoError(t, ctx.Err())
					happens(cancel, func() { endStd(); d.end() })
					synctest.Wait()
					require.Equal(t, want, std.Err())
					require.Equal(t, want, ctx.Err())
					if waited {
						require.Equal(t, want, child.Err())
					}
					require.Equal(t, "v", ctx.Value(key{}))
					at, ok := ctx.Deadline()
					require.True(t, ok)
					require.Equal(t, until, at)
					select {
					case <-ctx.Done():
						require.Error(t, want)
					default:
						require.NoError(t, want)
					}
					require.Equal(t, want, ctx.Err())
					d.end()
					require.Error(t, ctx.Err())
				})
			})
		}
		f("nothing", nil, func(_, _ func()) { time.Sleep(59 * time.Second) })
		f("its time", context.DeadlineExceeded, func(_, _ func()) { time.Sleep(time.Minute) })
		f("the caller left", context.Canceled, func(cancel, _ func()) { cancel() })
		f("its end", context.Canceled, func(_, end func()) { end() })
	}
	t.Run("often asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := new(deadline)
			ctx := d.within(t.Context(), time.Now().Add(time.Minute))
			defer d.end()
			for range 3 * oftenAsked {
				require.NoError(t, ctx.Err())
			}
			require.NotNil(t, d.made.Load())
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, context.DeadlineExceeded, ctx.Err())
		})
	})
	sooner, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	d := new(deadline)
	require.Equal(t, sooner, d.within(sooner, time.Now().Add(time.Minute)))
	d.end()
	require.NoError(t, sooner.Err())
}

func BenchmarkDeadlineErr(b *testing.B) {
	f := func(name string, times int) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d := new(deadline)
				ctx := d.within(b.Context(), time.Now().Add(time.Minute))
				for range times {
					if ctx.Err() != nil {
						b.Fatal()
					}
				}
				d.end()
			}
		})
	}
	f("5 times", 5)
	f("1000 times", 1000)
}
