# Untested where this is built. The image holds the gateway alone: give it DATABASE_URL.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /gateway ./cmd/gateway

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates ffmpeg && rm -rf /var/lib/apt/lists/* \
	&& install -d -o nobody /data
COPY --from=build /gateway /gateway
ENV UMG_LISTEN=0.0.0.0:8080 UMG_OPS_LISTEN=0.0.0.0:9464 UMG_DATA=/data
VOLUME /data
EXPOSE 8080 9464
USER nobody
ENTRYPOINT ["/gateway"]
CMD ["serve"]
