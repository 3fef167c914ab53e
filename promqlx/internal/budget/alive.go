package budget

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"
)

// Alive returns what ended an evaluation, in the words of Prometheus' engine.
func Alive(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return promql.ErrQueryCanceled("expression evaluation")
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout("expression evaluation")
	default:
		return err
	}
}
