# syntax=docker/dockerfile:1

# Builds: better-sqlite3 compiles where no prebuilt binary can be fetched, hence the compiler.
FROM node:20-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 make g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY src ./src
RUN npx tsc -p tsconfig.json && npm prune --omit=dev

# Runs: no compiler, no development packages, not root.
FROM node:20-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcap2-bin \
 && setcap cap_net_bind_service=+ep /usr/local/bin/node \
 && apt-get purge -y --auto-remove libcap2-bin \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 5353 zoneplane \
 && useradd --uid 5353 --gid 5353 --no-create-home --home-dir /data --shell /usr/sbin/nologin zoneplane \
 && install -d -m 0700 -o zoneplane -g zoneplane /data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/build/src ./build/src
COPY LICENSE README.md CHANGELOG.md ./
COPY zones ./zones
RUN chmod 0755 build/src/main.js && ln -s /app/build/src/main.js /usr/local/bin/zoneplane

ENV NODE_ENV=production \
    ZONEPLANE_DATA_DIR=/data \
    ZONEPLANE_ZONES_DIR=/app/zones \
    ZONEPLANE_ADMIN_HOST=0.0.0.0
USER 5353:5353
VOLUME /data
EXPOSE 53/udp 53/tcp 8053/tcp
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 CMD ["zoneplane", "healthcheck"]
ENTRYPOINT ["zoneplane"]
CMD ["serve"]
