# One image for every role: `march cellapp`, `march baseapp`, `march manager`, `march bots`.
#
#   docker build -t marchland:local .
#
# `make images` does the same, and where no registry can be reached it puts this machine's own
# binary into the second stage. The marked line is all that differs then.
ARG RUST_IMAGE=rust:1.95-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
# The build of etcd-client needs protoc and Google's own .proto files.
RUN apt-get update \
    && apt-get install -y --no-install-recommends protobuf-compiler libprotobuf-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p march && install -D target/release/march /out/march

FROM ${BASE_IMAGE}
# A volume takes over the owner of the folder that it covers when it is new.
RUN install -d -o 10001 -g 10001 /data
# binary:
COPY --from=build /out/march /usr/local/bin/march
USER 10001:10001
WORKDIR /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/march"]
CMD ["--help"]
