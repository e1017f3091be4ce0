module imagegen.test/govc

go 1.23.0

require github.com/vmware/govmomi v0.44.1

require (
	github.com/a8m/tree v0.0.0-20210115125333-10a5fd5b637d // indirect
	github.com/dougm/pretty v0.0.0-20171025230240-2ee9d7453c02 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/rogpeppe/go-internal v1.9.0 // indirect
	github.com/xlab/treeprint v1.2.0 // indirect
	golang.org/x/text v0.19.0 // indirect
)
