package catalog

import (
	"fmt"
	"testing"
)

// modelsMany is how many models the largest catalogs have that people use.
const modelsMany = 557

// manyModels is the default catalog with copies of its first text model up to modelsMany models.
func manyModels(t testing.TB) File {
	t.Helper()
	f := parse(t, string(Default()))
	pattern := f.Models[0]
	for i := len(f.Models); i < modelsMany; i++ {
		m := pattern
		m.ID = fmt.Sprintf("meridian/copy-%d", i)
		f.Models = append(f.Models, m)
	}
	return f
}

// BenchmarkManyModels measures the parts of an apply that grow with the number of models.
func BenchmarkManyModels(b *testing.B) {
	f := manyModels(b)
	printed, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseFile(printed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if all := Check(f); len(all) > 0 {
				b.Fatal(all)
			}
		}
	})
	b.Run("diff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Diff(f, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("print", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Bytes(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			snapshotFrom(b, f)
		}
	})
}
