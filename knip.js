/** What is exported, or depended on, is used: by anything (`knip`), and by the program itself (`knip --production`). */
const isProduction = process.argv.includes('--production');

export default {
  entry: [
    'src/roles/child.ts!',
    'src/store/migrations/write-newest.ts!',
    'src/api/openapi/write-document.ts!',
    'src/cli/operations/write-described.ts!',
    // Found by their names.
    'src/store/migrations/0*.ts!',
    // Rooms that are complete before what uses them.
    'src/location/networks.ts!',
    'test/run.ts',
    'test/**/*.test.ts',
    // Programs that tests start.
    'test/**/*-child.ts',
    'test/by-hand/*.ts',
    'bench/main.ts',
    'bench/cache-tests.ts',
    'release/main.ts',
    // The dashboard: what browsers load, and what builds it.
    'web/main.tsx!',
    'web/guide/guide.ts!',
    // The shapes of the API for all screens.
    'web/types.ts!',
  ],
  project: ['src/**/*.ts!', 'web/**/*.{ts,tsx}!', 'test/**/*.ts', 'bench/**/*.ts', 'release/**/*.ts'],
  // Servers and clients that tests and benchmarks start; .ci/run installs them.
  exclude: ['binaries'],
  // Tests load them with createRequire: they have no types, or run in the browser.
  ignoreDependencies: ['dns-packet', 'axe-core', 's3rver'],
  // Tests may call what a file of src uses itself. The types of an exported function are exported with it.
  ignoreExportsUsedInFile: isProduction ? true : { interface: true, type: true },
};
