module imagegen.test/containerd

go 1.26.0

require github.com/containerd/containerd v1.6.32

require (
	google.golang.org/genproto/googleapis/api v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)
