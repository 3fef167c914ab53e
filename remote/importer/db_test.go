package importer_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
	"github.com/varvedb/varve/tsdb"
)

// What comes in by text goes out as JSON and in again; what the store refuses is
// a bad line.
func TestImportIntoTheStore(t *testing.T) {
	open := func(opts tsdb.Options) *importer.Handler {
		opts.MinFree = -1
		db, err := tsdb.Open(t.TempDir(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return importer.New(importer.FromDB(db), importer.Options{})
	}
	from := open(tsdb.Options{})
	rec := post(from, textPath, "m{a=\"b\"} -0 1749938400000\nm{a=\"b\"} 0.1 1749938415000\nfar 1 99999999999999\n")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "1 bad line, the others were stored\nline 3: ")
	want := `{"metric":{"__name__":"m","a":"b"},"values":[-0,0.1],"timestamps":[1749938400000,1749938415000]}` + "\n"
	require.Equal(t, want, dump(from))
	to := open(tsdb.Options{})
	require.Equal(t, http.StatusNoContent, post(to, jsonPath, dump(from)).Code)
	require.Equal(t, want, dump(to))

	limited := open(tsdb.Options{MaxSeries: 1})
	require.Equal(t, http.StatusNoContent, post(limited, textPath, "m 1 5\n").Code)
	rec = post(limited, textPath, "n 1 5\n")
	require.Equal(t, http.StatusInternalServerError, rec.Code, "the server's own WriteError knows the store's overload")
}
