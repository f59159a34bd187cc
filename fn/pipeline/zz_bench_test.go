package pipeline_test
import ("testing";"os";"runtime";"fmt";"runtime/pprof"; "github.com/rewrite-probes/rewrite-probes/manifest";"github.com/rewrite-probes/rewrite-probes/fn/config";"github.com/rewrite-probes/rewrite-probes/fn/pipeline")
func TestZ(b *testing.T){
 in,_:=os.ReadFile("/tmp/l50.yaml")
  s,err:=manifest.Read("x",in); if err!=nil{b.Fatal(err)}
  r,err:=pipeline.Run([]*manifest.Stream{s},config.Default(),pipeline.Rewrite); if err!=nil{b.Fatal(err)}
  runtime.GC(); f,_:=os.Create("/tmp/h.prof"); pprof.WriteHeapProfile(f); f.Close()
  fmt.Fprintln(os.Stderr,len(r.Messages)); runtime.KeepAlive(s); runtime.KeepAlive(in)
}
