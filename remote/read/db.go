package read

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/chunks"
)

// FromDB makes a Store of an open tsdb.DB.
func FromDB(db *tsdb.DB) Store { return dbStore{db} }

type dbStore struct{ db *tsdb.DB }

func (s dbStore) Select(ctx context.Context, mint, maxt int64, matchers ...*labels.Matcher) (View, error) {
	v, err := s.db.Select(ctx, mint, maxt, matchers...)
	if err != nil {
		return nil, err
	}
	if err := v.Damage(); err != nil { // the answer has no place to say so
		v.Close()
		return nil, err
	}
	return dbView{v}, nil
}

type dbView struct{ *tsdb.View }

func (v dbView) Cursor(i int, mint, maxt int64) chunks.Cursor { return v.View.Cursor(i, mint, maxt) }
