/** What is exported, or depended on, is used: by anything (`knip`), and by the program itself (`knip --production`). */
const isProduction = process.argv.includes('--production');

/** Rooms that are being built: nothing of the program leads to them yet. */
const UNDER_CONSTRUCTION = [
  'src/{certs,vault,jobs,hostnames}/**/*.ts!',
  'src/store/certs/*.ts!',
  'src/store/{log-writer,sealed-columns}.ts!',
];

export default {
  entry: [
    'src/roles/child.ts!',
    'test/**/*.test.ts',
    // Programs that tests start.
    'test/**/*-child.ts',
    'bench/main.ts',
    ...UNDER_CONSTRUCTION,
  ],
  project: ['src/**/*.ts!', 'test/**/*.ts', 'bench/**/*.ts'],
  // Servers and clients that tests and benchmarks start; .ci/run installs them.
  exclude: ['binaries'],
  // Tests load it with createRequire, since it has no types.
  ignoreDependencies: ['dns-packet'],
  // Tests may call what a file of src uses itself. The types of an exported function are exported with it.
  ignoreExportsUsedInFile: isProduction ? true : { interface: true, type: true },
};
