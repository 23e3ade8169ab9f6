//! The wire: generated protobuf types and services by plane, and the conversion between them and
//! the domain's own messages. The only room that knows both.

pub mod convert;

/// Generated: the link plane.
#[allow(missing_docs, clippy::all)]
pub mod link {
    tonic::include_proto!("marchland.link.v1");
}

/// Generated: the client plane.
#[allow(missing_docs, clippy::all)]
pub mod client {
    tonic::include_proto!("marchland.client.v1");
}

/// Generated: the operator plane.
#[allow(missing_docs, clippy::all)]
pub mod operator {
    tonic::include_proto!("marchland.operator.v1");
}

/// Generated: the observer plane.
#[allow(missing_docs, clippy::all)]
pub mod observer {
    tonic::include_proto!("marchland.observer.v1");
}
