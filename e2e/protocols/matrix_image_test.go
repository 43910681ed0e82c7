package protocols

import (
	"net/http"
	"strings"
	"testing"
)

// testMatrixImages sends an image by its address. Three styles of upstream take the address; to the native one the
// gateway brings the image itself, if it is one.
func testMatrixImages(m *matrix, t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, p := range cells(!stream) {
			t.Run(p.String()+"/"+modeOf(stream), func(t *testing.T) {
				t.Parallel()
				m.showsImage(t, p, stream)
			})
		}
	}
	native := wires[3]
	for _, client := range wires[:3] {
		for name, address := range map[string]string{
			"too large":              m.SimulatorURL + "/files/large.png",
			"a page":                 m.SimulatorURL + "/files/page.png",
			"too many pixels":        m.SimulatorURL + "/files/wide.png",
			"a redirect inside":      m.SimulatorURL + "/files/inside.png",
			"not there":              m.SimulatorURL + "/files/gone.png",
			"a private address":      "https://10.0.0.1/dot.png",
			"an address of the host": "http://127.0.0.1:9/dot.png",
			"cloud metadata":         "http://169.254.169.254/latest/meta-data/",
		} {
			if client.style != "chat" && name != "a redirect inside" {
				// Which addresses are fetched does not depend on the style of the client.
				continue
			}
			t.Run(pair{client, native}.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				m.refusesImage(t, pair{client, native}, address)
			})
		}
	}
}

func (m *matrix) showsImage(t *testing.T, p pair, stream bool) {
	t.Helper()
	address, seen := webImage, "I see 1 image ("+webImage+"). "
	fetched := p.upstream.style == "native" && !p.straight()
	if fetched {
		address, seen = m.SimulatorURL+"/files/dot.png", "I see 1 image (image/png, "
	}
	q := question{model: p.model(), stream: stream, turns: []turn{{text: "What is it?", image: address}}}
	r, s := m.ask(t, p.client, q)
	if !strings.HasPrefix(r.text(), seen) {
		t.Errorf("the text is %q", r.text())
	}
	m.reached(t, p, &q, s.mark)
	if body := m.arrived(t, s.mark)[0].Body; strings.Contains(body, address) == fetched || fetched && !strings.Contains(body, `"data":"iVBORw0KGgo`) {
		t.Errorf("the upstream got %s", body)
	}
}

func (m *matrix) refusesImage(t *testing.T, p pair, address string) {
	t.Helper()
	s := m.send(t, p.client, question{model: p.model(), turns: []turn{{text: "What is it?", image: address}}})
	words := errorsBefore[0].words[p.client.style]
	if word := m.errorWord(t, p.client, s.Status, strings.ReplaceAll(s.Body, "127.0.0.1", "the host")); s.Status != http.StatusBadRequest ||
		word != words {
		t.Errorf("status %d: %s", s.Status, s.Body)
	}
	if s.record.Cost != 0 || len(m.arrived(t, s.mark)) > 0 {
		t.Errorf("recorded is %+v, and %d requests reached the upstream", s.record, len(m.arrived(t, s.mark)))
	}
}
