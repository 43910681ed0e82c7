# Untested where this is built. The image holds the gateway alone: give it DATABASE_URL, or DATABASE_URL_FILE and other secrets as
# files (see app/docs/operator/secrets.md). No secret is an argument of the build, a layer or a default here.
FROM golang:1.26.0-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /gateway ./cmd/gateway

FROM debian:12.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl ffmpeg && rm -rf /var/lib/apt/lists/* \
	&& install -d -o 65532 -g 65532 -m 0700 /data
COPY --from=build /gateway /gateway
# Port 9464 is for probes and collectors in the network of the container. It is not exposed, and must never be published.
ENV UMG_LISTEN=0.0.0.0:8080 UMG_OPS_LISTEN=0.0.0.0:9464 UMG_DATA=/data
VOLUME /data
EXPOSE 8080
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:9464/healthz"]
ENTRYPOINT ["/gateway"]
CMD ["serve"]
