import { defineConfig } from 'vitest/config'

// One project after the other. `fast` needs nothing installed; `store` runs against the Cassandra that its global set-up starts;
// `docker` is skipped, loudly, where no Docker engine answers.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          sequence: { groupOrder: 0 },
          include: ['test/{unit,property,arch}/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'store',
          sequence: { groupOrder: 1 },
          include: ['test/{cassandra,http,cli}/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'embedded',
          sequence: { groupOrder: 2 },
          include: ['test/embedded/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'docker',
          sequence: { groupOrder: 3 },
          include: ['test/docker/**/*.test.ts'],
          globalSetup: ['test/support/docker-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          // These tests clean up themselves, and ports are published on this machine's own address.
          env: { TESTCONTAINERS_RYUK_DISABLED: 'true', TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1' },
        },
      },
    ],
  },
})
