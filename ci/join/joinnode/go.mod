module imagegen.test/joinnode

go 1.26

require golang.org/x/sys v0.40.0
