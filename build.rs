//! The trees that the program carries are read by a macro that cargo cannot see through.

fn main() {
    for tree in ["manifests", "packer", "provisioners"] {
        println!("cargo::rerun-if-changed={tree}");
    }
}
