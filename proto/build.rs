//! Compiles the wire's .proto files without an installed compiler.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = [
        "marchland/link.proto",
        "marchland/client.proto",
        "marchland/operator.proto",
        "marchland/observer.proto",
    ];
    for file in files {
        println!("cargo:rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["."])?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
