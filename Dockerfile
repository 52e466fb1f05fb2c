# syntax=docker/dockerfile:1

# The one base image, by its exact version. test/by-hand/pin-base-image.sh adds the digest, so that builds can be repeated.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# Builds. Native packages ship their binaries, so no install script runs; that of `node` would fetch the Node.js the image has.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
# The same steps as for the package for npm; they also make the guide from the documents.
COPY . .
RUN npm run --silent prepack \
 && npm ci --ignore-scripts --omit=dev

# Runs: no development packages, not root.
FROM ${NODE_IMAGE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcap2-bin \
 && setcap cap_net_bind_service=+ep /usr/local/bin/node \
 && apt-get purge -y --auto-remove libcap2-bin \
 && rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/* \
 && groupadd --gid 5353 zoneplane \
 && useradd --uid 5353 --gid 5353 --no-create-home --home-dir /data --shell /usr/sbin/nologin zoneplane \
 && install -d -m 0700 -o zoneplane -g zoneplane /data \
 && install -d -m 0755 /zones
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/build/src ./build/src
COPY --from=build /app/build/web ./build/web
COPY LICENSE README.md CHANGELOG.md ./
RUN chmod 0755 build/src/main.js && ln -s /app/build/src/main.js /usr/local/bin/zoneplane

ENV NODE_ENV=production \
    ZONEPLANE_DATA_DIR=/data \
    ZONEPLANE_ZONES_DIR=/zones \
    ZONEPLANE_ADMIN_HOST=0.0.0.0
USER 5353:5353
VOLUME /data
# DNS, DNS over TLS, the edge (or DNS over HTTPS) and where it falls back to, admin API, buckets. Zone files mounted at /zones are imported at the first start.
EXPOSE 53/udp 53/tcp 853/tcp 80/tcp 443/tcp 8080/tcp 8443/tcp 8053/tcp 8054/tcp
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 CMD ["zoneplane", "healthcheck"]
ENTRYPOINT ["zoneplane"]
CMD ["serve"]
