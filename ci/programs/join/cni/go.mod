module imagegen.test/cni

go 1.24.2

require github.com/containernetworking/plugins v1.9.1
