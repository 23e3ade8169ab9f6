# The commands of every day. Each installs what it needs and is missing, on Debian and Ubuntu;
# elsewhere it names that and stops.

.DEFAULT_GOAL := help
.PHONY: help demo test lint soak images up down

help:
	@echo 'make demo     a cluster with bots on this machine, audited at its end; ARGS="--for 30s"'
	@echo 'make test     all tests'
	@echo 'make lint     format, sizes, layering, clippy'
	@echo 'make soak     what takes hours; PARTS="model sim fuzz real containers"'
	@echo 'make images   the container images, with or without a registry'
	@echo 'make up       the cluster in containers, until all is well'
	@echo 'make down     its end, with its volumes'

demo:
	@deploy/install-tools rust protoc
	cargo run --release -- demo $(ARGS)

test:
	@deploy/test

lint:
	@deploy/install-tools rust lints protoc
	cargo fmt --all --check
	deploy/check-files
	deploy/check-layering
	cargo clippy --workspace --all-targets --locked -- -D warnings

soak:
	@deploy/soak $(PARTS)

images:
	@deploy/build-images

up: images
	@deploy/up

down:
	@deploy/down
