package preset
import ("testing")
func TestQ(t *testing.T){ for _,p:=range All(){ s:=p.Expand(p.Examples()); t.Log(p.ID,s.Base,s.Auth); for k,w:=range s.Wires{ t.Log("   ",k,w.Base+w.WithModel(w.StreamPath,"a/b:c"),w.CountPath,w.Headers)}; if pr:=p.Check(p.Examples(),nil); len(pr)>0 {t.Error(pr)}}}
