package nearby_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A row that names its objects costs nothing for the others: of a large ConfigMap only its text is searched.
func TestOnlyObjectsOfTheNamesOfARowAreRead(t *testing.T) {
	row := *surroundings.Sidecars.Kind
	row.Named = []string{"istio", "istio-*"}
	for name, want := range map[string]bool{"istio": true, "istio-canary": true, "istiod": false, "other": false, "my-istio": false, `"istio\u002dcanary"`: true} {
		text := object("networking.istio.io/v1", "Sidecar", "shop/"+name, "ingress: []") + "---\n" + web
		s, err := manifest.Read("all.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rows := surroundings.Rows()
		rows = append(rows[:row.Index():row.Index()], append([]*surroundings.Kind{&row}, rows[row.Index()+1:]...)...)
		x := nearby.CollectKinds([]*manifest.Stream{s}, root, rows)
		if found := x.Source(s.Objects()[1], "shop").Find(&row, false); (len(found) == 1) != want {
			t.Errorf("%s counts: %t", name, len(found) == 1)
		}
	}
}
