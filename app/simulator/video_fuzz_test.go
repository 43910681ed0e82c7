package simulator

import "testing"

// FuzzPictures proves that no bytes that pretend to be an image break the reading of their head.
func FuzzPictures(f *testing.F) {
	f.Add([]byte("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x04\x00\xcf\x02\x00\x00\x00\x00"))
	f.Add(webp(16, 9))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := pictureOf(data); ok && (p.kind == "" || p.width < 0 || p.height < 0) {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzFaults proves that every spec is either refused or means something that strikes calls it can name.
func FuzzFaults(f *testing.F) {
	for _, spec := range []string{"status=503;times=2", "on=status,content;content=short", "late-create;reset", "render=5s;fail=x;backwards", "progress=-1"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		fault, err := parseFault(spec)
		if err != nil {
			return
		}
		struck := false
		for _, call := range []string{onCreate, onStatus, onContent, onCancel, onList, onRemix} {
			struck = struck || fault.concerns(call)
		}
		if !struck {
			t.Errorf("%q strikes nothing", spec)
		}
	})
}
