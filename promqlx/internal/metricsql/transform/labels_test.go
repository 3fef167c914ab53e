package transform_test

import "testing"

func TestLabels(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m":   {`m{z="Zz", a="b-c"} 1 2 3 4`, `m{z="2.5", a="c"} 1 _ 3 4`},
		"dot": {`aa.b.ccc{x="1"} 1 2 3 4`},
	}}
	b.is(`label_set(m, "n", "v", "a", "", "__name__", "k", "n", "w")`, `k{z="Zz", n="w"} 1 2 3 4`, `k{z="2.5", n="w"} 1 _ 3 4`)
	b.is(`label_del(m, "z", "__name__", "none")`, `{a="b-c"} 1 2 3 4`, `{a="c"} 1 _ 3 4`)
	b.is(`label_del(dot)`, `aa.b.ccc{x="1"} 1 2 3 4`)
	b.is(`label_keep(m, "a", "__name__")`, `m{a="b-c"} 1 2 3 4`, `m{a="c"} 1 _ 3 4`)
	b.is(`label_keep(dot)`, `{} 1 2 3 4`)
	b.is(`label_uppercase(dot, "__name__", "none")`, `AA.B.CCC{x="1"} 1 2 3 4`)
	b.is(`label_lowercase(m, "z")`, `m{z="zz", a="b-c"} 1 2 3 4`, `m{z="2.5", a="c"} 1 _ 3 4`)
	b.is(`label_map(m, "a", "c", "d", "b-c", "", "c", "e")`, `m{z="Zz"} 1 2 3 4`, `m{z="2.5", a="e"} 1 _ 3 4`)
	b.is(`label_map(dot, "y", "", "was none")`, `aa.b.ccc{x="1", y="was none"} 1 2 3 4`)
	b.is(`label_copy(dot, "x", "y", "none", "x", "__name__", "n")`, `aa.b.ccc{x="1", y="1", n="aa.b.ccc"} 1 2 3 4`)
	b.is(`label_move(dot, "x", "y", "none", "y", "y", "y")`, `aa.b.ccc{y="1"} 1 2 3 4`)
	b.is(`label_move(dot, "x", "__name__")`, `1{} 1 2 3 4`)
	b.is(`label_join(dot, "y", "-", "x", "none", "__name__")`, `aa.b.ccc{x="1", y="1--aa.b.ccc"} 1 2 3 4`)
	b.is(`label_join(dot, "x", "-")`, `aa.b.ccc{} 1 2 3 4`)
	b.is(`label_value(m, "z")`, `{z="Zz", a="b-c"} _ _ _ _`, `{z="2.5", a="c"} 2.5 _ 2.5 2.5`)
	b.is(`label_match(m, "a", "c|d")`, `m{z="2.5", a="c"} 1 _ 3 4`)
	b.is(`label_mismatch(m, "a", "c|d")`, `m{z="Zz", a="b-c"} 1 2 3 4`)
	b.is(`label_match(dot, "none", "")`, `aa.b.ccc{x="1"} 1 2 3 4`)
	b.is(`labels_equal(m, "a", "z")`)
	b.is(`labels_equal(dot, "none", "nor this")`, `aa.b.ccc{x="1"} 1 2 3 4`)
}

func TestLabelPatterns(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{"m": {`m{z="Zz", a="b-c"} 1 2 3 4`}}}
	b.is(`label_transform(m, "a", "(.)-", "<$1>")`, `m{z="Zz", a="<b>c"} 1 2 3 4`)
	b.is(`label_transform(m, "a", "[a-z]", "x")`, `m{z="Zz", a="x-x"} 1 2 3 4`)
	b.is(`label_transform(m, "a", ".+", "")`, `m{z="Zz"} 1 2 3 4`)
	b.is(`label_replace(m, "n", "$2$1", "a", "(.)-(.)")`, `m{z="Zz", a="b-c", n="cb"} 1 2 3 4`)
	b.is(`label_replace(m, "n", "$1", "a", "(b)")`, `m{z="Zz", a="b-c"} 1 2 3 4`)
	b.is(`label_replace(m, "z", "", "none", "")`, `m{a="b-c"} 1 2 3 4`)
	b.is(`label_replace(m, "__name__", "${n}_x", "__name__", "(?P<n>.+)")`, `m_x{z="Zz", a="b-c"} 1 2 3 4`)

	re := "error parsing regexp: missing closing ): `"
	b.fails(`label_transform(m, "a", "(", "x")`, `cannot compile regex "(": `+re+"(`")
	b.fails(`label_replace(m, "a", "x", "a", "(")`, `cannot compile regex "(": `+re+"^(?:()$`")
	b.fails(`label_match(m, "a", "(")`, `cannot compile regexp "(": `+re+"^(?:()$`")
}

func TestGraphiteGroup(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{"dot": {`aa.b.ccc{x="1"} 1 2 3 4`}}}
	f := func(args, want string) {
		t.Helper()
		b.is(`label_graphite_group(dot, `+args+`)`, want+`{x="1"} 1 2 3 4`)
	}
	f(`0, 2`, `aa.ccc`)
	f(`1`, `b`)
	f(`0, 7, -1, 2`, `aa...ccc`)
	f(`2, 0`, `ccc.cc`) // the first part was written over by then
	b.fails(`label_graphite_group(dot)`, `unexpected number of args: 1; want at least 2 args`)
	b.fails(`label_graphite_group(dot, 1, none)`, `cannot get group name from arg #2: arg #3 must be a scalar`)
}

func TestLabelArguments(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{"m": {`m{a="b"} 1 2 3 4`}}}
	for _, f := range []string{"label_keep", "label_del", "label_set", "label_copy", "label_move"} {
		b.fails(f+`()`, `not enough args; got 0; want at least 1`)
	}
	for _, f := range []string{"label_uppercase", "label_lowercase", "label_map"} {
		b.fails(f+`(m)`, `not enough args; got 1; want at least 2`)
	}
	b.fails(`label_join(m, "x")`, `not enough args; got 2; want at least 3`)
	b.fails(`labels_equal(m, "x")`, `unexpected number of args; got 2; want at least 3`)
	b.fails(`label_value(m)`, `unexpected number of args; got 1; want 2`)
	b.fails(`label_match(m)`, `unexpected number of args; got 1; want 3`)
	b.fails(`label_transform(m)`, `unexpected number of args; got 1; want 4`)
	b.fails(`label_replace(m)`, `unexpected number of args; got 1; want 5`)

	b.fails(`label_keep(m, "x", 1)`, `arg #3 must be a string`)
	b.fails(`label_del(m, none)`, `arg #2 must be a string`)
	b.fails(`label_set(m, "x")`, `the number of string args must be even; got 1`)
	b.fails(`label_set(m, 1, "x")`, `arg #1 must be a string`) // counted from the first text
	b.fails(`label_copy(m, "x", 1)`, `arg #2 must be a string`)
	b.fails(`label_map(m, 1)`, `cannot read label name: arg #2 must be a string`)
	b.fails(`label_map(m, "x", "a", 1)`, `arg #2 must be a string`)
	b.fails(`label_join(m, "x", "-", 1)`, `arg #4 must be a string`)
	b.fails(`label_replace(m, "x", "y", 1, "z")`, `arg #4 must be a string`)
	b.fails(`label_value(m, 1)`, `cannot get label name: arg #2 must be a string`)
	b.fails(`label_mismatch(m, 1, "x")`, `cannot get label name: arg #2 must be a string`)
	b.fails(`label_mismatch(m, "x", 1)`, `cannot get regexp: arg #3 must be a string`)
	b.fails(`labels_equal(m, "x", 1)`, `cannot get label name: arg #3 must be a string`)
}
