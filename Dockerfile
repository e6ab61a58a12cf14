# Two images from one file:
#   docker build --target platform -t platform .
#   docker build --target collector -t collector .
# The programs are bundles: no npm and no node_modules in the final layers.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY patches patches
RUN npm ci --ignore-scripts --no-audit --no-fund && npm run postinstall
COPY scripts scripts
COPY services services
COPY python python
RUN npm run build

FROM node:24.21.0-bookworm-slim AS runtime
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps
# The base image carries npm, corepack and yarn; none of them runs here.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn* /opt/yarn-*
WORKDIR /app
USER 1000:1000

FROM runtime AS collector
COPY --from=build /src/build/collector build/collector
EXPOSE 8080 9090
CMD ["node", "build/collector/main.js"]

FROM runtime AS platform
# Workers pull sources with it. With the Perl that its package asks for it takes about 100 MB.
USER root
RUN apt-get update && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
USER 1000:1000
COPY --from=build /src/build/platform build/platform
# Backups are restored with the schema of the traces, and upgrades rehearsed with its programs.
COPY --from=build /src/build/collector build/collector
COPY --from=build /src/build/python build/python
COPY --from=build /src/build/web build/web
COPY --from=build /src/build/oauth build/oauth
COPY --from=build /src/build/worker build/worker
COPY --from=build /src/build/crew build/crew
# Reads documents for web and crews, in processes of its own.
COPY --from=build /src/build/documents build/documents
COPY --from=build /src/build/registry-gate build/registry-gate
COPY --from=build /src/build/tasks build/tasks
COPY --from=build /src/build/verify build/verify
COPY --from=build /src/build/doctor.mjs build/doctor.mjs
EXPOSE 3000
CMD ["node", "build/web/main.js"]
