# The service, as `serve`. How to build and run it: README.md, "With Docker".
FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: `prepare` builds, and the sources are not here yet.
RUN npm ci --ignore-scripts
COPY src src
RUN npm run build && chmod +x dist/cli.js && npm prune --omit=dev --ignore-scripts

FROM node:20-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
RUN ln -s /app/dist/cli.js /usr/local/bin/thousandfold && mkdir /data && chown node:node /data
COPY package.json ./
COPY cql cql
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
  CMD node -e "fetch('http://127.0.0.1:' + (process.env.PORT || 8080) + '/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["node", "dist/cli.js"]
CMD ["serve"]
