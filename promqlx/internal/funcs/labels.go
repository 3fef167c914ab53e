package funcs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// label_replace and label_join change labels and look at no sample. Rows that
// become equal are joined at once, at an instant with late removal of names
// too. (evalLabelReplace and evalLabelJoin of Prometheus' promql/functions.go.)

// checkReplace checks the strings of label_replace and compiles its pattern, if that
// was not done when the query was planned.
func checkReplace(in *Input) (err error) {
	if in.Pattern == nil {
		if in.Pattern, err = ReplacePattern(in.Texts[4]); err != nil {
			return err
		}
	}
	if dst := in.Texts[1]; !model.UTF8Validation.IsValidLabelName(dst) {
		return fmt.Errorf("invalid destination label name in label_replace(): %s", dst)
	}
	return nil
}

// ReplacePattern compiles the pattern of label_replace.
func ReplacePattern(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("^(?s:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression in label_replace(): %s", pattern)
	}
	return re, nil
}

func labelReplace(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	if in.Pattern == nil {
		if err := checkReplace(in); err != nil {
			return nil, err
		}
	}
	re := in.Pattern
	dst, replacement, src := in.Texts[1], in.Texts[2], in.Texts[3]
	b := labels.NewBuilder(labels.EmptyLabels())
	var last, value string
	var matched, known bool
	var buf []byte
	for i, r := range args[0] {
		if err := in.Env.Alive(i); err != nil {
			return nil, err
		}
		// Neighbours often have the same value.
		if v := r.Labels.Get(src); !known || v != last {
			last, known = v, true
			found := re.FindStringSubmatchIndex(v)
			if matched = found != nil; matched {
				buf = re.ExpandString(buf[:0], replacement, v, found)
				value = string(buf)
			}
		}
		if !matched {
			continue
		}
		if err := setLabel(in.Env, b, r, dst, value); err != nil {
			return nil, err
		}
	}
	return row.MergeSame(args[0])
}

// setLabel sets a label of r. A name that is set anew is not dropped. The labels are
// counted: they may be as long as the text of a query makes them.
func setLabel(env *row.Env, b *labels.Builder, r *row.Row, name, value string) error {
	b.Reset(r.Labels)
	b.Set(name, value)
	r.Labels = b.Labels()
	if name == model.MetricNameLabel {
		r.DropName = false
	}
	return env.Hold(r.Labels.ByteSize())
}

func checkJoin(in *Input) error {
	for _, src := range in.Texts[3:] {
		if !model.UTF8Validation.IsValidLabelName(src) {
			return fmt.Errorf("invalid source label name in label_join(): %s", src)
		}
	}
	if dst := in.Texts[1]; !model.UTF8Validation.IsValidLabelName(dst) {
		return fmt.Errorf("invalid destination label name in label_join(): %s", dst)
	}
	return nil
}

func labelJoin(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	if err := checkJoin(in); err != nil {
		return nil, err
	}
	dst, sep := in.Texts[1], in.Texts[2]
	values := make([]string, len(in.Texts)-3)
	b := labels.NewBuilder(labels.EmptyLabels())
	for k, r := range args[0] {
		if err := in.Env.Alive(k); err != nil {
			return nil, err
		}
		for i, src := range in.Texts[3:] {
			values[i] = r.Labels.Get(src)
		}
		if err := setLabel(in.Env, b, r, dst, strings.Join(values, sep)); err != nil {
			return nil, err
		}
	}
	return row.MergeSame(args[0])
}
