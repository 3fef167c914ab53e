package importer

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/chunks"
)

// FromDB makes a Store of an open tsdb.DB.
func FromDB(db *tsdb.DB) Store { return dbStore{db} }

type dbStore struct{ db *tsdb.DB }

func (s dbStore) Batch() Batch { return dbBatch{s.db.Batch()} }

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

type dbBatch struct{ *tsdb.Batch }

func (b dbBatch) Add(lset labels.Labels, times []int64, values []float64) (refused string, err error) {
	s, err := b.Series(lset)
	if err != nil {
		return refusal(err)
	}
	for i, t := range times {
		if err := b.Float(s, 0, t, values[i]); err != nil {
			reason, err := refusal(err)
			if err != nil {
				return "", err
			}
			if refused == "" {
				refused = reason
			}
		}
	}
	return refused, nil
}

// refusal tells what is wrong with the input from what is wrong with the store.
func refusal(err error) (refused string, _ error) {
	if input, ok := errors.AsType[*tsdb.InputError](err); ok {
		return input.Error(), nil
	}
	return "", err
}
